#include "core/comm/launch.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/comm/world.h"

namespace tandem {

namespace {

/// A test whose environment shows no launcher but the one that it sets; what was there is put back at the
/// end.
class Launcher : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kNames) {
      const char* value = std::getenv(name);
      before_.emplace_back(value ? value : "");
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (std::size_t i = 0; i < before_.size(); ++i)
      before_[i].empty() ? unsetenv(kNames[i]) : setenv(kNames[i], before_[i].c_str(), 1);
  }

  static constexpr const char* kNames[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",     "PMIX_RANK",
                                           "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "PATH"};

 private:
  std::vector<std::string> before_;
};

TEST_F(Launcher, ALoneProcessHasNone) {
  EXPECT_EQ(launched_ranks(), 0);
}

TEST_F(Launcher, EveryKindIsSeen) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    setenv(name, "4", 1);
    EXPECT_EQ(launched_ranks(), 4) << name;
    unsetenv(name);
  }
}

TEST_F(Launcher, ABatchScriptOfSlurmIsOneProcess) {
  setenv("SLURM_NTASKS", "8", 1);
  EXPECT_EQ(launched_ranks(), 0);
  setenv("SLURM_STEP_NUM_TASKS", "1", 1);
  EXPECT_EQ(launched_ranks(), 0);
}

TEST_F(Launcher, ALoneRankNeedsNoMpi) {
  Context context = Context::cpu();
  const auto world = World::join(context);
  EXPECT_EQ(world->rank(), 0);
  EXPECT_EQ(world->size(), 1);
  EXPECT_EQ(world->local_size(), 1);
  EXPECT_EQ(world->mpi_version(), "");
  EXPECT_EQ(world->comm().backend(), "self");
  double value = 3;
  world->comm().all_reduce(Tensor::of(&value, {1}), ReduceOp::sum, context.comm());
  context.comm().synchronize();
  EXPECT_EQ(value, 3);
}

TEST_F(Launcher, ALoneRankAgreesWithItself) {
  Context context = Context::cpu();
  const auto world = World::join(context);
  world->agree(nullptr, context);
  const UsageError error("--batch -1");
  try {
    world->agree(&error, context);
    FAIL() << "nothing was thrown";
  } catch (const AgreedError& e) {
    EXPECT_STREQ(e.what(), "--batch -1");
    EXPECT_EQ(e.exit_code(), 2);
    EXPECT_TRUE(e.speaker());
  }
}

TEST(MpirunCommand, PassesTheProgramAndItsArgumentsLast) {
  const auto command = mpirun_command(3, "/bin/train", {"--steps", "5"});
  EXPECT_EQ(command[0], "mpirun");
  const std::vector<std::string> ranks = {"-np", "3"}, tail = {"/bin/train", "--steps", "5"};
  EXPECT_NE(std::search(command.begin(), command.end(), ranks.begin(), ranks.end()), command.end());
  EXPECT_TRUE(std::equal(tail.rbegin(), tail.rend(), command.rbegin()));
  const bool root = std::count(command.begin(), command.end(), "--allow-run-as-root") == 1;
  EXPECT_EQ(root, geteuid() == 0);
}

TEST_F(Launcher, WithoutMpirunTheErrorSaysWhatToInstall) {
  setenv("PATH", "/nonexistent", 1);
  try {
    relaunch_under_mpirun(2, {});
    FAIL() << "nothing was thrown";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("openmpi-bin"), std::string::npos) << e.what();
  }
}

}  // namespace

}  // namespace tandem

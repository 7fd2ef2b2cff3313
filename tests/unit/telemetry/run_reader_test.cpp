#include "core/telemetry/run_reader.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "core/telemetry/run_facts.h"
#include "core/telemetry/step_line.h"
#include "tests/unit/dataloader/expect_message.h"
#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

/// A run of two ranks as `train` writes it.
class WrittenRun {
 public:
  WrittenRun() {
    RunFacts facts;
    facts.model = "mlp";
    facts.dtype = "fp32";
    facts.optimizer = "sgd";
    facts.ranks = 2;
    facts.batch = 8;
    facts.global_batch = 16;
    facts.version = "1.2.3";
    facts.config = {{"--bucket-mb", "5"}};
    folder_.write("run.json", run_json(facts, {}));
    folder_.write("summary.json", "{}");
    for (int rank = 0; rank < 2; ++rank) write_steps(rank, 20);
  }

  void write_steps(int rank, int steps, const std::string& rest = "") {
    fmt::memory_buffer lines;
    for (int k = 0; k < steps; ++k) {
      StepRecord record;
      record.step = k;
      record.step_ms = 10 + rank;
      record.buckets = {{0, 64, 1, 2, 3, 4, 5, 6.5}};
      record.phases = {{Phase::backward, 0.5, 7}};
      append_step_line(record, lines);
    }
    folder_.write(steps_name(rank), fmt::to_string(lines) + rest);
  }
  static std::string steps_name(int rank) { return fmt::format("steps.rank{}.jsonl", rank); }
  void remove(const std::string& name) { std::filesystem::remove(folder_.path(name)); }
  void write(const std::string& name, const std::string& text) { folder_.write(name, text); }
  std::string path() const { return folder_.path(); }

 private:
  TempFolder folder_;
};

/// Both ways to read it: strictly it is refused, salvaged it is told, by the same words.
SalvagedRun expect_problem(const WrittenRun& run, const std::vector<std::string>& parts) {
  expect_message<DataError>([&] { read_run(run.path()); }, parts);
  SalvagedRun salvaged = salvage_run(run.path());
  EXPECT_FALSE(salvaged.problems.empty());
  return salvaged;
}

TEST(RunReader, ReadsWhatARunWrote) {
  const WrittenRun written;
  const auto run = read_run(written.path());
  EXPECT_EQ(run.model, "mlp");
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(run.config.at("bucket_mb"), "5");
  EXPECT_EQ(run.environment.at("tandem.version"), "1.2.3");
  EXPECT_EQ(run.logged_ranks, (std::vector<int>{0, 1}));
  const StepRecord& step = run.steps.at(1).at(19);
  EXPECT_EQ(step.step, 19);
  EXPECT_EQ(step.buckets.at(0).applied_us, 6.5);
  ASSERT_EQ(step.phases.size(), 1u);
  EXPECT_EQ(step.phases[0].phase, Phase::backward);
  EXPECT_EQ(step.phases[0].end_us, 7);
}

TEST(RunReader, ARankThatDiedEndsTheRunForAll) {
  WrittenRun run;
  run.write_steps(1, 12);
  run.remove("summary.json");
  const SalvagedRun salvaged = expect_problem(run, {"rank 1 ended after 12 steps, rank 0 after 20"});
  EXPECT_EQ(salvaged.run.steps.at(0).size(), 12u);
  EXPECT_FALSE(salvaged.run.finished);
}

TEST(RunReader, ALineThatIsCutOffEndsItsRank) {
  WrittenRun run;
  run.write_steps(0, 7, "{\"version\":1,\"step\":7,\"st");
  const SalvagedRun salvaged = expect_problem(run, {"steps.rank0.jsonl line 8", "cut off"});
  EXPECT_EQ(salvaged.run.steps.at(1).size(), 7u);
  EXPECT_EQ(salvaged.problems.size(), 2u) << "and rank 0 ended before rank 1";
}

TEST(RunReader, MissingRanksAreNamedAndTheOthersRead) {
  WrittenRun run;
  run.remove(WrittenRun::steps_name(0));
  const SalvagedRun salvaged = expect_problem(run, {"steps.rank0.jsonl is missing"});
  EXPECT_EQ(salvaged.run.logged_ranks, (std::vector<int>{1}));
  EXPECT_EQ(salvaged.run.steps.at(0).at(0).step_ms, 11);
  run.remove(WrittenRun::steps_name(1));
  EXPECT_EQ(salvage_run(run.path()).problems.size(), 2u);
}

TEST(RunReader, OtherVersionsAndForeignFoldersAreRefused) {
  WrittenRun run;
  run.write_steps(1, 0, "{\"version\":7,\"step\":0}\n");
  expect_problem(run, {"steps.rank1.jsonl line 1", "version 7"});
  run.write("run.json", "{\"version\":9}");
  expect_message<DataError>([&] { salvage_run(run.path()); }, {"run.json", "version 9"});
  run.write("run.json", "{\"name\":\"a web page\"}");
  expect_message<DataError>([&] { salvage_run(run.path()); }, {"run.json", "not of a run"});
  run.write("run.json", "{\"vers");
  expect_message<DataError>([&] { salvage_run(run.path()); }, {"run.json", "cut off"});
  run.remove("run.json");
  expect_message<DataError>([&] { salvage_run(run.path()); }, {"run.json", "is no run"});
  expect_message<DataError>([&] { salvage_run(run.path() + "/none"); }, {"no such folder"});
}

}  // namespace
}  // namespace tandem

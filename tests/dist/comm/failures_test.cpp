// How whole runs end: rank_program.cpp under mpirun, its exit code, what it printed, and how long it took.
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <sys/wait.h>

#include <gtest/gtest.h>

namespace tandem {

namespace {

using Clock = std::chrono::steady_clock;

struct Ending {
  int code = -1;
  std::string output;
  double seconds = 0;  // from the fault, or the start, to the end
};

/// Runs a shell command. `on_line` sees each line of its output as it comes; true restarts the clock.
Ending run(const std::string& command, const std::function<bool(const std::string&)>& on_line) {
  Ending ending;
  auto start = Clock::now();
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 1000> line{};
  while (fgets(line.data(), line.size(), pipe)) {
    ending.output += line.data();
    if (on_line(line.data())) start = Clock::now();
  }
  const int status = pclose(pipe);
  ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ending.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return ending;
}

std::string mpirun(int ranks, const std::string& fault) {
  return std::string(TANDEM_MPIRUN " --oversubscribe -np ") + std::to_string(ranks) +
         " " TANDEM_RANK_PROGRAM " " + fault;
}

Ending run(const std::string& command) {
  return run(command, [](const std::string&) { return false; });
}

/// Who gets a signal.
enum class Target { mpirun, one_rank };

/// Runs `command` (an mpirun) and, once all ranks have said that they are ready, sends a signal.
Ending interrupt(const std::string& command, int ranks, Target target, int signal) {
  int ready = 0;
  pid_t pid = 0;
  return run("echo mpirun as $$; exec " + command, [&](const std::string& line) {
    const bool started = line.starts_with("mpirun as "),
               is_ready = line.find(": ready as ") != std::string::npos;
    if (started || (is_ready && target == Target::one_rank))
      pid = std::stoi(line.substr(line.find(" as ") + 4));
    ready += is_ready;
    if (!is_ready || ready != ranks) return false;
    EXPECT_EQ(kill(pid, signal), 0);
    return true;
  });
}

Ending interrupt(int ranks, Target target, int signal) {
  return interrupt(mpirun(ranks, "endless"), ranks, target, signal);
}

/// Open MPI's mpirun passes SIGUSR1 on to its processes; one was seen that did not (4.1.6, in a virtual
/// machine).
bool mpirun_forwards_sigusr1() {
  const auto ending = interrupt(TANDEM_MPIRUN
                                " -np 1 sh -c 'trap \"echo heard; exit 0\" USR1; echo : ready as 0; "
                                "for i in $(seq 20); do sleep 0.1; done'",
                                1, Target::mpirun, SIGUSR1);
  return ending.output.find("heard") != std::string::npos;
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Runs, EndWellWhereNothingGoesWrong) {
  const auto ending = run(mpirun(2, "nothing"));
  EXPECT_EQ(ending.code, 0) << ending.output;
  EXPECT_EQ(count(ending.output, "done, 2 ranks"), 2) << ending.output;
}

TEST(Runs, RelaunchThemselvesWithRanks) {
  const auto ending = run(TANDEM_RANK_PROGRAM " relaunch");
  EXPECT_EQ(ending.code, 0) << ending.output;
  EXPECT_EQ(count(ending.output, "done, 2 ranks"), 2) << ending.output;
}

TEST(Runs, BadInputIsSaidOnceAndEndsAllWithTwo) {
  const auto ending = run(mpirun(3, "bad-input"));
  EXPECT_EQ(ending.code, 2) << ending.output;
  EXPECT_EQ(count(ending.output, "rank 1: images.idx is empty"), 1) << ending.output;
}

TEST(Runs, AnExceptionOnOneRankEndsAll) {
  const auto ending = run(mpirun(3, "throw"));
  EXPECT_EQ(ending.code, 3) << ending.output;
  EXPECT_EQ(count(ending.output, "rank 1: step 3: out of luck"), 1) << ending.output;
  EXPECT_LT(ending.seconds, 10);
}

TEST(Runs, AKilledRankEndsAllAndTheOthersSayWhereTheyWere) {
  const auto ending = interrupt(2, Target::one_rank, SIGKILL);
  EXPECT_NE(ending.code, 0) << ending.output;
  EXPECT_GE(count(ending.output, "ended by SIGTERM"), 1) << ending.output;
  EXPECT_LT(ending.seconds, 10);
}

TEST(Runs, CtrlCEndsAllRanksEachSayingWhereItWas) {
  const auto ending = interrupt(2, Target::mpirun, SIGINT);
  EXPECT_NE(ending.code, 0) << ending.output;
  EXPECT_EQ(count(ending.output, "ended by SIGTERM"), 2) << ending.output;
  EXPECT_LT(ending.seconds, 10);
}

TEST(Runs, SIGUSR1ToMpirunOrToOneRankStopsAllAfterAStep) {
  for (const Target target : {Target::one_rank, Target::mpirun}) {
    if (target == Target::mpirun && !mpirun_forwards_sigusr1())
      GTEST_SKIP() << "this mpirun does not pass SIGUSR1 on";
    const auto ending = interrupt(2, target, SIGUSR1);
    EXPECT_EQ(ending.code, 0) << ending.output;
    EXPECT_EQ(count(ending.output, "done, 2 ranks"), 2) << ending.output;
    EXPECT_LT(ending.seconds, 5);
  }
}

/// The "cores …" lines of rank 0 and rank 1.
std::array<std::string, 2> cores(const Ending& ending) {
  std::array<std::string, 2> result;
  for (int rank = 0; rank < 2; ++rank) {
    const std::string before = "rank " + std::to_string(rank) + ": cores ";
    const auto at = ending.output.find(before);
    if (at == std::string::npos) continue;
    const auto begin = at + before.size();
    result[rank] = ending.output.substr(begin, ending.output.find('\n', begin) - begin);
  }
  return result;
}

TEST(Runs, RanksKeepToTheCoresThatMpirunWasGiven) {
  // Whatever core mpirun would have chosen: taskset allows only core 0 (mpirun itself does not look at that).
  const auto [first, second] = cores(run("taskset -c 0 " + mpirun(2, "place")));
  EXPECT_EQ(first, "0");
  EXPECT_EQ(second, "0");
}

}  // namespace

}  // namespace tandem

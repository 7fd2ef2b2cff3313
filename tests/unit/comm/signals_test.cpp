#include "core/comm/signals.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tandem {

namespace {

/// Waits for it, two seconds at most.
bool becomes_true(const SignalGuard& guard) {
  for (int i = 0; i < 2000 && !guard.stop_requested(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return guard.stop_requested();
}

TEST(SignalGuard, SIGUSR1AsksToStop) {
  const SignalGuard guard;
  EXPECT_FALSE(guard.stop_requested());
  kill(getpid(), SIGUSR1);
  EXPECT_TRUE(becomes_true(guard));
}

TEST(SignalGuard, GoesWithoutATraceIfNothingCame) {
  { const SignalGuard guard; }
  const SignalGuard again;
  EXPECT_FALSE(again.stop_requested());
}

/// In a child process: a guard, one registered rank per entry, then the signal.
[[noreturn]] void die_of(int signal, std::initializer_list<std::string> ranks) {
  SignalGuard guard;
  std::list<SignalGuard::Registration> registrations;
  for (const auto& rank : ranks) registrations.emplace_back(guard, [rank] { return rank; });
  {
    const SignalGuard::Registration gone(guard, [] { return "rank that has ended"; });
  }
  std::thread worker(
      [] { std::this_thread::sleep_for(std::chrono::seconds(10)); });  // does not hold up the end
  kill(getpid(), signal);
  worker.join();
  std::exit(0);
}

class SignalGuardDeath : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SignalGuardDeath, SIGTERMNamesRankAndStep) {
  EXPECT_EXIT(die_of(SIGTERM, {"rank 1: step 17"}), ::testing::ExitedWithCode(128 + SIGTERM),
              "^tandem: rank 1: step 17: ended by SIGTERM\n$");
}

TEST_F(SignalGuardDeath, SIGINTNamesEveryRankOfTheProcess) {
  EXPECT_EXIT(die_of(SIGINT, {"rank 0: step 3", "rank 1: step 4"}), ::testing::ExitedWithCode(128 + SIGINT),
              "^tandem: rank 0: step 3: ended by SIGINT\ntandem: rank 1: step 4: ended by SIGINT\n$");
}

TEST_F(SignalGuardDeath, ALogThatCannotBeCompletedIsSaid) {
  EXPECT_EXIT(
      {
        SignalGuard guard;
        const SignalGuard::Registration registration(
            guard, []() -> std::string { throw std::runtime_error("disk full"); });
        kill(getpid(), SIGTERM);
        std::this_thread::sleep_for(std::chrono::seconds(10));
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "disk full");
}

}  // namespace

}  // namespace tandem

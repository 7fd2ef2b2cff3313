#include "core/telemetry/faults.h"

#include <chrono>
#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/unit/dataloader/expect_message.h"

namespace tandem {
namespace {

double ms_of(const Faults& faults, int rank, std::int64_t step) {
  const auto start = std::chrono::steady_clock::now();
  faults.before_step(rank, step);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

TEST(Faults, SlowAndThrowHitTheirRankAndStep) {
  const Faults faults({"slow=1:20", "throw=0@3", "slow=1:2.5"}, 2);
  EXPECT_GE(ms_of(faults, 1, 0), 22.5) << "several add up";
  EXPECT_GE(ms_of(faults, 1, 3), 22.5) << "in every step, and throw hits another rank";
  EXPECT_LT(ms_of(faults, 0, 2), 20);
  try {
    faults.before_step(0, 3);
    FAIL() << "threw nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 1);
    EXPECT_STREQ(error.what(), "step 3: injected fault (--inject throw=0@3)");
  }
  EXPECT_EQ(faults.describe(), (std::vector<std::string>{"slow=1:20", "throw=0@3", "slow=1:2.5"}));
  EXPECT_FALSE(faults.empty());
  EXPECT_TRUE(Faults({}, 1).empty());
}

TEST(Faults, ARandomStragglerIsTheSameOnAllRanksAndOneOfThem) {
  const Faults faults({"slow=any:4"}, 3);
  int turns[3] = {};
  for (std::int64_t step = 0; step < 30; ++step) {
    int slow = 0;
    for (int rank = 0; rank < 3; ++rank)
      if (ms_of(faults, rank, step) >= 4) {
        ++slow;
        ++turns[rank];
      }
    EXPECT_GE(slow, 1) << "step " << step;
  }
  for (const int turn : turns) EXPECT_GT(turn, 2) << "each has its turn";
}

TEST(Faults, StallAndNanHitBatchAndSeed) {
  const Faults faults({"stall=loader:5", "nan=1@3"}, 2);
  const auto start = std::chrono::steady_clock::now();
  faults.before_batch();
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(5));
  EXPECT_TRUE(std::isnan(faults.seed(1, 3, 0.5)));
  EXPECT_EQ(faults.seed(1, 2, 0.5), 0.5);
  EXPECT_EQ(faults.seed(0, 3, 0.5), 0.5);
}

TEST(Faults, RatesAreBytesPerSecond) {
  EXPECT_DOUBLE_EQ(parse_link("1gbit")->bytes_per_s, 125e6);
  EXPECT_DOUBLE_EQ(parse_link("200mbit/s")->bytes_per_s, 25e6);
  EXPECT_DOUBLE_EQ(parse_link("1.5MB")->bytes_per_s, 1.5e6);
  EXPECT_DOUBLE_EQ(parse_link("2GB/s")->latency_us, 0);
  EXPECT_DOUBLE_EQ(parse_link("2GB/s+12.5us")->latency_us, 12.5);
  const auto link = *Faults({"link=1gbit+300us", "link=10MB"}, 2).link();
  EXPECT_DOUBLE_EQ(link.bytes_per_s, 10e6) << "the slowest counts";
  EXPECT_DOUBLE_EQ(link.latency_us, 300);
  EXPECT_FALSE(Faults({"slow=1:5"}, 2).link());
}

TEST(Faults, RefusesWhatIsNone) {
  for (const char* spec : {"",
                           "slow",
                           "slow=",
                           "slow=1",
                           "slow=1:",
                           "slow=:5",
                           "slow=1:0",
                           "slow=1:-5",
                           "slow=1:nan",
                           "slow=1:inf",
                           "slow=1:1e9",
                           "slow=1:5x",
                           "slow=-1:5",
                           "slow=1.5:5",
                           "slow=1@5",
                           "slow=all:5",
                           "stall=5",
                           "stall=disk:5",
                           "stall=loader:0",
                           "stall=loader:",
                           "link=",
                           "link=1",
                           "link=0gbit",
                           "link=-1gbit",
                           "link=infGB",
                           "link=1Gb",
                           "link=gbit",
                           "link=1gbit+",
                           "link=1gbit+5",
                           "link=1gbit+-5us",
                           "link=+5us",
                           "nan=0",
                           "nan=0@",
                           "nan=-1@3",
                           "nan=any@3",
                           "throw=0",
                           "throw=0@",
                           "throw=0@-1",
                           "throw=0@1.5",
                           "throw=0:1",
                           "throw=99999999999@1",
                           "Slow=1:5",
                           " slow=1:5",
                           "kill=0@1"})
    expect_message<UsageError>([&] { Faults({spec}, 2); },
                               {fmt::format("--inject {}:", spec), "slow=RANK:MS"});
  expect_message<UsageError>([] { Faults({"slow=2:5"}, 2); }, {"no rank 2", "0 to 1"});
}

}  // namespace
}  // namespace tandem

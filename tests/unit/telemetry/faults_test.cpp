#include "core/telemetry/faults.h"

#include <chrono>

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

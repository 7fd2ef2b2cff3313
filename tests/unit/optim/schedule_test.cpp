#include "optim/schedule.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tandem {
namespace {

using Kind = Schedule::Kind;

TEST(Schedule, WarmsUpLinearlyToItsPeak) {
  for (Kind kind : {Kind::constant, Kind::linear, Kind::cosine}) {
    const Schedule schedule{.kind = kind, .lr = 0.8, .warmup_steps = 4, .total_steps = 20};
    EXPECT_DOUBLE_EQ(schedule.at(0), 0.2);
    EXPECT_DOUBLE_EQ(schedule.at(1), 0.4);
    EXPECT_DOUBLE_EQ(schedule.at(3), 0.8);
  }
}

TEST(Schedule, ConstantStays) {
  const Schedule schedule{.kind = Kind::constant, .lr = 0.3, .warmup_steps = 2, .total_steps = 5};
  for (int step : {2, 4, 100}) EXPECT_DOUBLE_EQ(schedule.at(step), 0.3);
}

TEST(Schedule, LinearFallsEvenlyToTheLastStep) {
  const Schedule schedule{
      .kind = Kind::linear, .lr = 1, .warmup_steps = 0, .total_steps = 11, .final_fraction = 0.2};
  for (int step = 0; step <= 10; ++step) EXPECT_NEAR(schedule.at(step), 1 - 0.08 * step, 1e-12) << step;
  EXPECT_NEAR(schedule.at(1000), 0.2, 1e-12);
}

TEST(Schedule, CosineIsHalfwayInTheMiddle) {
  const Schedule schedule{
      .kind = Kind::cosine, .lr = 2, .warmup_steps = 3, .total_steps = 103, .final_fraction = 0.1};
  EXPECT_DOUBLE_EQ(schedule.at(2), 2);  // the peak, where warm-up and decay meet
  EXPECT_NEAR(schedule.at(52), (2 + 0.2) / 2, 1e-12);
  EXPECT_NEAR(schedule.at(102), 0.2, 1e-12);
  for (int step = 3; step <= 102; ++step) EXPECT_LT(schedule.at(step), schedule.at(step - 1));
}

TEST(Schedule, OneStepRunsAtFullRate) {
  for (Kind kind : {Kind::constant, Kind::linear, Kind::cosine})
    for (int warmup : {0, 1})
      EXPECT_DOUBLE_EQ((Schedule{.kind = kind, .lr = 0.5, .warmup_steps = warmup, .total_steps = 1}.at(0)),
                       0.5);
}

TEST(Schedule, RefusesNonsense) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_NO_THROW(Schedule{}.validate());
  for (double lr : {-1.0, nan, inf}) EXPECT_THROW((Schedule{.lr = lr}.validate()), UsageError);
  for (std::int64_t warmup : {-1, 11})
    EXPECT_THROW((Schedule{.warmup_steps = warmup, .total_steps = 10}.validate()), UsageError);
  for (std::int64_t total : {0, -5}) EXPECT_THROW((Schedule{.total_steps = total}.validate()), UsageError);
  for (double fraction : {-0.1, 1.1, nan})
    EXPECT_THROW((Schedule{.final_fraction = fraction}.validate()), UsageError);
}

}  // namespace
}  // namespace tandem

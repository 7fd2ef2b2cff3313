#include "core/telemetry/step_history.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(StepHistory, KeepsTheFirstSteps) {
  StepHistory history(3, 2, 4);
  EXPECT_TRUE(history.records().empty());
  StepRecord record;
  record.buckets.resize(2);
  for (record.step = 0; record.step < 5; ++record.step) history.add(record);
  ASSERT_EQ(history.records().size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(history.records()[k].step, static_cast<std::int64_t>(k));
    EXPECT_EQ(history.records()[k].buckets.size(), 2u);
  }
}

}  // namespace
}  // namespace tandem

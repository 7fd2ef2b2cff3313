#include "core/telemetry/step_account.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tandem {
namespace {

using Intervals = std::vector<std::pair<double, double>>;

double length(Intervals intervals) {
  return union_length(intervals);
}

TEST(UnionLength, CountsOverlapsOnce) {
  EXPECT_EQ(length({}), 0);
  EXPECT_EQ(length({{2, 5}}), 3);
  EXPECT_EQ(length({{2, 5}, {7, 8}}), 4);
  EXPECT_EQ(length({{7, 8}, {2, 5}}), 4) << "in any order";
  EXPECT_EQ(length({{2, 5}, {5, 8}}), 6) << "touching";
  EXPECT_EQ(length({{2, 5}, {4, 8}}), 6) << "overlapping";
  EXPECT_EQ(length({{2, 9}, {4, 5}, {8, 10}}), 8) << "one within another";
  EXPECT_EQ(length({{3, 3}}), 0) << "empty";
  EXPECT_EQ(length({{-5, -3}, {-4, 1}}), 6) << "before zero";
}

TEST(UnionLength, AgreesWithCountingOnAGrid) {
  std::mt19937 random(std::random_device{}());
  std::uniform_int_distribution<int> point(0, 99), count(0, 12);
  for (int round = 0; round < 200; ++round) {
    Intervals intervals;
    std::vector<bool> covered(100, false);
    for (int i = count(random); i > 0; --i) {
      const auto [start, end] = std::minmax({point(random), point(random)});
      intervals.push_back({start, end});
      for (int cell = start; cell < end; ++cell) covered[static_cast<std::size_t>(cell)] = true;
    }
    EXPECT_EQ(length(intervals), static_cast<double>(std::count(covered.begin(), covered.end(), true)));
  }
}

TEST(Account, AWaitIsChargedToExposedCommunicationAlone) {
  StepRecord record;
  record.step_ms = 1.0;
  record.data_wait_ms = 0.05;
  record.phases = {{Phase::data, 0, 50},       {Phase::forward, 60, 260},   {Phase::backward, 260, 660},
                   {Phase::forward, 660, 700}, {Phase::backward, 700, 800}, {Phase::optimizer, 800, 990}};
  const std::vector<WaitSpan> waits = {{Phase::backward, 600, 650},   // not overlapped: within backward
                                       {Phase::optimizer, 800, 900},  // the usual place
                                       {std::nullopt, 990, 995}};     // in no phase
  account_phases(record, waits);
  account_host(record);
  EXPECT_DOUBLE_EQ(*record.data_bubble_ms, 0.05);
  EXPECT_DOUBLE_EQ(*record.forward_ms, 0.24) << "summed over micro-batches";
  EXPECT_DOUBLE_EQ(*record.backward_ms, 0.45);
  EXPECT_DOUBLE_EQ(*record.optimizer_ms, 0.09);
  EXPECT_DOUBLE_EQ(*record.exposed_comm_ms, 0.155);
  EXPECT_NEAR(*record.host_ms, 0.015, 1e-12) << "10 µs before forward, 5 µs at the end";
}

}  // namespace
}  // namespace tandem

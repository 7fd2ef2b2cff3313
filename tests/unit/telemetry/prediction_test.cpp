#include "core/telemetry/prediction.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/philox.h"

namespace tandem {
namespace {

TEST(Prediction, ExpectedMaximaAreThoseOfTheTables) {
  // Harter (1961), expected values of normal order statistics.
  for (const auto& [n, expected] : {std::pair{1, 0.0},
                                    {2, 0.56419},
                                    {3, 0.84628},
                                    {4, 1.02938},
                                    {8, 1.42360},
                                    {64, 2.35},
                                    {100, 2.50759}})
    EXPECT_NEAR(expected_maximum(n), expected, n == 64 ? 0.01 : 1e-4) << n;
  EXPECT_THROW(expected_maximum(0), ContractError);
}

TEST(Prediction, ARingOfMoreRanks) {
  // Among 2 ranks: 2 steps of n/2 bytes, 5 us and 1 GB/s each: 10 us + n · 1e-3.
  const LinkModel two{{{0, 10, 1e-3}}, 0};
  EXPECT_NEAR(ring_link(two, 2, 2).us(1e6), 1010, 1e-6);
  // Among 4: 6 steps of n/4 bytes.
  EXPECT_NEAR(ring_link(two, 2, 4).us(1e6), 6 * (5 + 250), 1e-6);
  // And back again.
  EXPECT_NEAR(ring_link(ring_link(two, 2, 4), 4, 2).us(1e6), 1010, 1e-6);
  EXPECT_EQ(ring_link(two, 2, 1).us(1e6), 0);
}

TEST(Prediction, RegimesMoveWithTheSizeOfMessages) {
  const LinkModel two{{{0, 10, 1e-3}, {1e6, -990, 2e-3}}, 0};
  const LinkModel eight = ring_link(two, 2, 8);
  EXPECT_NEAR(eight.segments[1].from_bytes, 4e6, 1e-3);  // there messages are of 0.5 MB again
  EXPECT_NEAR(eight.us(4e6 * 0.999), eight.us(4e6 * 1.001), 0.005 * eight.us(4e6));  // still continuous
}

TEST(Prediction, ANetworkOfLevelsIsAsSlowAsTheOutermostCrossed) {
  const NetworkLevel levels[] = {{8, 5, 100}, {64, 20, 10}};
  EXPECT_NEAR(ring_link(levels, 8).us(8e6), 14 * (5 + 1e6 / 100 * 1e-3), 1e-6);
  EXPECT_NEAR(ring_link(levels, 16).us(16e6), 30 * (20 + 1e6 / 10 * 1e-3), 1e-6);
  EXPECT_EQ(ring_link(levels, 1).us(1e6), 0);
  EXPECT_THROW(ring_link(levels, 65), DataError);
}

/// One bucket ready at 100 ms, where backward ends; an update of 10 ms.
Calibration simple() {
  Calibration calibration;
  calibration.work.gradients = {{1e6, 100e3, 10e3}};
  calibration.work.backward_end_us = 100e3;
  calibration.noise_us = 1e3;
  return calibration;
}

TEST(Prediction, IsReplayAndTheSlowestOfPRanks) {
  const LinkModel link{{{0, 5e3, 0}}, 0};
  const Prediction four = predict_step(simple(), link, 4);
  EXPECT_NEAR(four.exposed_ms, 5, 1e-9);
  EXPECT_NEAR(four.straggling_ms, 1.02938, 1e-4);
  EXPECT_NEAR(four.step_ms, 115 + 1.02938, 1e-4);
  EXPECT_NEAR(four.efficiency, 110 / 116.02938, 1e-6);
  EXPECT_NEAR(predict_step(simple(), {}, 1).step_ms, 110, 1e-9);
}

/// Two ranks that step together for 200 steps: work of 100 ms and a noise of 2%, then one bucket of 10 ms.
std::vector<std::vector<StepRecord>> run_of_two() {
  std::vector<std::vector<StepRecord>> ranks(2);
  Philox random(5, 0);
  for (int k = 0; k < 200; ++k) {
    const double work[] = {100 + 2 * random.normal(), 100 + 2 * random.normal()};
    const double together = std::max(work[0], work[1]);
    for (int r = 0; r < 2; ++r) {
      StepRecord step;
      step.step = k;
      step.step_ms = together + 10;
      step.exposed_comm_ms = step.step_ms - work[r];
      step.comm_busy_ms = *step.exposed_comm_ms;
      step.optimizer_ms = 0;
      step.buckets = {{.id = 0,
                       .bytes = 1'000'000,
                       .ready_us = work[r] * 1e3,
                       .start_us = work[r] * 1e3,
                       .end_us = step.step_ms * 1e3,
                       .applied_us = {}}};
      ranks[static_cast<std::size_t>(r)].push_back(step);
    }
  }
  return ranks;
}

TEST(Prediction, ARunsOwnLinkAndNoise) {
  const auto ranks = run_of_two();
  EXPECT_NEAR(link_of_transfers(ranks).us(1e6), 10e3, 1);
  EXPECT_NEAR(work_noise_us(ranks), 2e3, 300);
}

TEST(Prediction, TheOutlookAtTheRunsOwnRanksIsItsStep) {
  const std::string text = outlook(run_of_two(), {50, 199, true}, false, true);
  double two = 0, four = 0;
  ASSERT_EQ(std::sscanf(text.c_str(), "2 ranks %lf ms, 4 ranks %lf ms", &two, &four), 2) << text;
  EXPECT_NEAR(two, 111, 1.5);
  EXPECT_NEAR(four, 100 + 15 + 2 * 1.03, 2.5);  // 2(P−1)/P of the bytes: 1.5 times as many
  const auto both = run_of_two();
  EXPECT_EQ(outlook(std::span(both).first(1), {50, 199, true}, false, true), "");
}

}  // namespace
}  // namespace tandem

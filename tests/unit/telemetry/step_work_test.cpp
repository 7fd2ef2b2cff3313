#include "core/telemetry/step_work.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tandem {
namespace {

/// Forward to 50, backward to 100 with gradients ready at 60 and 100, updates of 3 and 4 µs from 101 on.
StepRecord step_alone(double step_us) {
  StepRecord step;
  step.step_ms = step_us / 1e3;
  step.exposed_comm_ms = 0;
  step.phases = {{Phase::forward, 0, 50}, {Phase::backward, 50, 100}, {Phase::optimizer, 101, 108}};
  step.buckets = {{.id = 1,
                   .bytes = 200,
                   .ready_us = 100,
                   .start_us = 100,
                   .end_us = 100,
                   .wait_start_us = 104,
                   .wait_end_us = 104,
                   .applied_us = 108},
                  {.id = 0,
                   .bytes = 100,
                   .ready_us = 60,
                   .start_us = 60,
                   .end_us = 60,
                   .wait_start_us = 101,
                   .wait_end_us = 101,
                   .applied_us = 104}};
  return step;
}

TEST(StepWork, IsThatOfTheMedianStepAndAddsUpToIt) {
  const std::vector<StepRecord> steps = {step_alone(200), step_alone(120), step_alone(110)};
  const StepWork work = work_of(steps, /*clipped=*/false, /*overlap=*/true);
  ASSERT_EQ(work.gradients.size(), 2u);
  EXPECT_EQ(work.gradients[0].bytes, 100);
  EXPECT_EQ(work.gradients[0].ready_us, 60);
  EXPECT_EQ(work.gradients[0].update_us, 3);
  EXPECT_EQ(work.gradients[1].update_us, 4);
  EXPECT_EQ(work.backward_end_us, 100);
  EXPECT_NEAR(work.rest_us, 13, 1e-9);
  EXPECT_NEAR(replay(work, {}).step_us, 120, 1e-9);
}

TEST(StepWork, WithClippingTheFirstUpdateCountsAsClipping) {
  StepRecord step = step_alone(120);
  step.buckets[0].wait_start_us = step.buckets[0].wait_end_us = 101;  // waited for all, then the norm
  const StepWork work = work_of(std::span(&step, 1), /*clipped=*/true, true);
  EXPECT_EQ(work.clip_us, 3);
  EXPECT_EQ(work.gradients[0].update_us, 0);
  EXPECT_EQ(work.gradients[1].update_us, 4);
  EXPECT_NEAR(replay(work, {}).step_us, 120, 1e-9);
}

TEST(StepWork, ALogsStepsShareOutTheUpdate) {
  StepRecord step = step_alone(120);
  step.phases.clear();
  for (BucketRecord& bucket : step.buckets) bucket.applied_us.reset();
  step.optimizer_ms = 0.006;
  step.exposed_comm_ms = 0.005;
  const StepWork work = work_of(std::span(&step, 1), false, true);
  EXPECT_NEAR(work.gradients[0].update_us, 2, 1e-9);  // 100 of 300 bytes
  EXPECT_NEAR(work.gradients[1].update_us, 4, 1e-9);
  EXPECT_EQ(work.backward_end_us, 100);
  EXPECT_NEAR(replay(work, {}).step_us, 115, 1e-9);
}

TEST(StepWork, UnprobedStepsAreRefused) {
  StepRecord step = step_alone(120);
  step.buckets.clear();
  EXPECT_THROW(work_of(std::span(&step, 1), false, true), ContractError);
  EXPECT_THROW(work_of({}, false, true), ContractError);
}

/// A rank's step: 110 µs of work and 20 of waiting for a transfer, which took `transfer_us`.
StepRecord step_among(double transfer_us) {
  StepRecord step;
  step.step_ms = 0.130;
  step.exposed_comm_ms = 0.020;
  step.buckets = {{.id = 0,
                   .bytes = 1000,
                   .ready_us = 60,
                   .start_us = 60,
                   .end_us = 60 + transfer_us,
                   .wait_start_us = 0,
                   .wait_end_us = 0,
                   .applied_us = {}}};
  return step;
}

TEST(Contention, IsWhatBothLostWhileBothWorked) {
  const LinkModel link{{{0, 20, 0.02}}, 0};  // 40 µs for 1000 bytes
  const std::vector<std::vector<StepRecord>> ranks = {{step_among(60)}, {step_among(50)}};
  // The transfer took 50, of which compute stood still for 20: in 30 it did 20 of its work (110 instead of
  // 100), and the transfer 20 of its 40.
  const Contention contention = contention_of(ranks, /*alone_us=*/100, link);
  EXPECT_NEAR(contention.slowdown, 1.5, 1e-9);
  EXPECT_NEAR(contention.load, 1.5, 1e-9);
}

TEST(Contention, NoiseNeitherSpeedsUpNorRunsAway) {
  const std::vector<std::vector<StepRecord>> ranks = {{step_among(50)}, {step_among(50)}};
  const LinkModel fast{{{0, 1, 0}}, 0}, slow{{{0, 500, 0}}, 0};
  EXPECT_EQ(contention_of(ranks, /*alone_us=*/115, slow).slowdown, 1);
  EXPECT_EQ(contention_of(ranks, /*alone_us=*/115, slow).load, 1);
  EXPECT_EQ(contention_of(ranks, /*alone_us=*/10, fast).slowdown, 4);
  EXPECT_EQ(contention_of(ranks, /*alone_us=*/10, fast).load, 4);
  const std::vector<std::vector<StepRecord>> exposed = {{step_among(15)}, {step_among(15)}};
  EXPECT_EQ(contention_of(exposed, 50, fast).slowdown, 1);  // nothing ran beside anything
}

}  // namespace
}  // namespace tandem

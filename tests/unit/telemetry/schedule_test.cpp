#include "core/telemetry/schedule.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/philox.h"

namespace tandem {
namespace {

/// `us` for every collective.
LinkModel constant(double us) {
  return {{{0, us, 0}}, 0};
}

/// Two buckets: ready at 10 and 30, backward ends at 30, updates of 5 and 7, then 1.
StepWork two_buckets() {
  StepWork work;
  work.gradients = {{100, 10, 5}, {200, 30, 7}};
  work.backward_end_us = 30;
  work.rest_us = 1;
  return work;
}

/// A step as a seed makes it.
StepWork random_work(std::uint64_t seed) {
  Philox random(seed, 0);
  StepWork work;
  double now = 500 * random.uniform();
  for (int i = 0; i < 20; ++i) {
    now += 100 * random.uniform();
    work.gradients.push_back({1e6 * random.uniform(), now, 10 * random.uniform()});
  }
  work.backward_end_us = now + 10 * random.uniform();
  work.rest_us = 20 * random.uniform();
  return work;
}

double compute_us(const StepWork& work) {
  double us = work.backward_end_us + work.clip_us + work.rest_us;
  for (const auto& g : work.gradients) us += g.update_us;
  return us;
}

TEST(Schedule, HiddenAndExposed) {
  const StepSchedule s = replay(two_buckets(), constant(15));
  // Bucket 0 runs from 10 to 25, bucket 1 from 30 to 45; compute reaches its wait for 1 at 30 + 5.
  EXPECT_EQ(s.buckets[0].start_us, 10);
  EXPECT_EQ(s.buckets[0].end_us, 25);
  EXPECT_EQ(s.buckets[0].wait_us, 0);
  EXPECT_EQ(s.buckets[0].updated_us, 35);
  EXPECT_EQ(s.buckets[1].start_us, 30);
  EXPECT_EQ(s.buckets[1].wait_us, 10);
  EXPECT_EQ(s.step_us, 45 + 7 + 1);
  EXPECT_EQ(s.exposed_us, 10);
  EXPECT_EQ(s.busy_us, 30);
}

TEST(Schedule, ABucketWaitsForTheOneBefore) {
  const StepSchedule s = replay(two_buckets(), constant(40));
  EXPECT_EQ(s.buckets[0].end_us, 50);
  EXPECT_EQ(s.buckets[1].ready_us, 30);
  EXPECT_EQ(s.buckets[1].start_us, 50);
  EXPECT_EQ(s.buckets[0].wait_us, 20);  // from 30 to 50
  EXPECT_EQ(s.buckets[1].wait_us, 35);  // from 55 to 90
  EXPECT_EQ(s.step_us, 98);
}

TEST(Schedule, ComputeIsSlowedWhileACollectiveRuns) {
  const StepSchedule s = replay(two_buckets(), constant(15), {1.5, 1});
  // From 10 to 25 compute advances 10 of its 20 µs to bucket 1: that is ready at 35, runs until 50, slows the
  // update of bucket 0 from 5 to 7.5.
  EXPECT_EQ(s.buckets[1].ready_us, 35);
  EXPECT_EQ(s.buckets[1].end_us, 50);
  EXPECT_EQ(s.buckets[0].updated_us, 42.5);
  EXPECT_EQ(s.buckets[1].wait_us, 7.5);
  EXPECT_EQ(s.step_us, 58);
}

TEST(Schedule, CollectivesAreSlowedWhileComputeWorks) {
  const StepSchedule s = replay(two_buckets(), constant(15), {1, 1.5});
  // From 10 to 30 bucket 0 does 40/3 of its 15. Compute then stands still for the rest, updates bucket 0 for
  // 5, in which bucket 1 does 10/3, and stands still for what is left of that.
  EXPECT_NEAR(s.buckets[0].wait_us, 5.0 / 3, 1e-9);
  EXPECT_NEAR(s.buckets[1].start_us, 30 + 5.0 / 3, 1e-9);
  EXPECT_NEAR(s.buckets[1].wait_us, 35.0 / 3, 1e-9);
  EXPECT_NEAR(s.step_us, 30 + 5.0 / 3 + 5 + 35.0 / 3 + 7 + 1, 1e-9);
}

TEST(Schedule, BothAreSlowedWhereBothWork) {
  StepWork work;
  work.gradients = {{100, 10, 0}};
  work.backward_end_us = 30;
  const StepSchedule s = replay(work, constant(15), {2, 3});
  // From 10 on, 20 of compute take 40, in which the collective does 40/3 of its 15.
  EXPECT_NEAR(s.buckets[0].wait_us, 15 - 40.0 / 3, 1e-9);
  EXPECT_NEAR(s.step_us, 50 + 15 - 40.0 / 3, 1e-9);
}

TEST(Schedule, ClippingWaitsForAll) {
  StepWork work = two_buckets();
  work.wait_for_all = true;
  work.clip_us = 2;
  const StepSchedule s = replay(work, constant(15));
  EXPECT_EQ(s.exposed_us, 15);  // bucket 1 ends at 45, compute came at 30
  EXPECT_EQ(s.buckets[0].updated_us, 45 + 2 + 5);
  EXPECT_EQ(s.step_us, 45 + 2 + 5 + 7 + 1);
}

TEST(Schedule, WithoutOverlapNothingIsHiddenButUpdates) {
  StepWork work = two_buckets();
  work.overlap = false;
  const StepSchedule s = replay(work, constant(15));
  EXPECT_EQ(s.buckets[0].start_us, 30);
  EXPECT_EQ(s.buckets[1].end_us, 60);
  EXPECT_EQ(s.step_us, 68);
}

TEST(Schedule, ABucketIsNotReadyBeforeTheOnesBeforeIt) {
  StepWork work = two_buckets();
  std::swap(work.gradients[0], work.gradients[1]);
  const StepSchedule s = replay(work, constant(15));
  EXPECT_EQ(s.buckets[0].ready_us, 30);
  EXPECT_EQ(s.buckets[1].ready_us, 30);
  EXPECT_EQ(s.buckets[1].start_us, 45);
}

TEST(Schedule, OneRankOnlyComputes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const StepWork work = random_work(seed);
    const StepSchedule s = replay(work, {}, {1.5, 2});
    EXPECT_NEAR(s.step_us, compute_us(work), 1e-9);
    EXPECT_EQ(s.exposed_us, 0);
  }
}

TEST(Schedule, WithoutOverlapOneBucketIsTheSum) {
  StepWork work = two_buckets();
  work.overlap = false;
  const std::size_t all[] = {2};
  const StepSchedule s = replay(bucketed(work, all), {{{0, 7, 0.25}}, 0});
  EXPECT_EQ(s.step_us, compute_us(work) + 7 + 0.25 * 300);
}

TEST(Schedule, IsNeverFasterOnASlowerLinkNorWithMoreSlowdown) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const StepWork work = random_work(seed);
    const LinkModel link{{{0, 20, 5e-5}}, 0};
    double before = 0;
    for (const double factor : {0.5, 1.0, 1.1, 2.0, 8.0}) {
      const double step = replay(work, {{{0, 20 * factor, 5e-5 * factor}}, 0}).step_us;
      EXPECT_GE(step, before - 1e-6) << "seed " << seed << ", factor " << factor;
      before = step;
    }
    EXPECT_GE(replay(work, link, {1.3, 1.2}).step_us, replay(work, link).step_us) << "seed " << seed;
  }
}

TEST(Schedule, TheStepIsComputeAndExposedCommunication) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const StepWork work = random_work(seed);
    const StepSchedule s = replay(work, {{{0, 20, 5e-5}}, 0});
    EXPECT_NEAR(s.step_us, compute_us(work) + s.exposed_us, 1e-6) << "seed " << seed;
    EXPECT_LE(s.exposed_us, s.busy_us + 1e-6);
    for (std::size_t k = 1; k < s.buckets.size(); ++k)
      EXPECT_GE(s.buckets[k].start_us, s.buckets[k - 1].end_us);
  }
}

TEST(Schedule, BucketsAddUp) {
  const StepWork work = random_work(3);
  const std::size_t counts[] = {3, 16, 1};
  const StepWork buckets = bucketed(work, counts);
  ASSERT_EQ(buckets.gradients.size(), 3u);
  EXPECT_DOUBLE_EQ(buckets.gradients[0].bytes,
                   work.gradients[0].bytes + work.gradients[1].bytes + work.gradients[2].bytes);
  EXPECT_EQ(buckets.gradients[0].ready_us, work.gradients[2].ready_us);
  EXPECT_EQ(buckets.gradients[2].ready_us, work.gradients[19].ready_us);
  EXPECT_NEAR(compute_us(buckets), compute_us(work), 1e-9);
  const std::size_t too_few[] = {3, 16};
  EXPECT_THROW(bucketed(work, too_few), ContractError);
  EXPECT_THROW(replay(work, {}, {0.9, 1}), ContractError);
}

}  // namespace
}  // namespace tandem

#include "core/telemetry/step_timer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tandem {
namespace {

using namespace std::chrono_literals;

/// A timer on a CPU's streams whose records are kept.
struct Timed {
  explicit Timed(Probe probe = Probe::bucket, std::vector<std::int64_t> bytes = {100, 200})
      : timer(context, probe, std::move(bytes), [this](const StepRecord& r) { records.push_back(r); }) {}

  /// Puts a collective of `length` on the comm stream, as the reducer does.
  void reduce(int bucket, std::chrono::microseconds length) {
    timer.bucket_ready(bucket, context.compute());
    timer.bucket_start(bucket, context.comm());
    context.comm().enqueue([length] { std::this_thread::sleep_for(length); });
    timer.bucket_end(bucket, context.comm());
    done[static_cast<std::size_t>(bucket)] = context.make_event();
    context.comm().record(done[static_cast<std::size_t>(bucket)]);
  }
  void wait(int bucket) {
    timer.wait_start(bucket, context.compute());
    context.compute().wait(done[static_cast<std::size_t>(bucket)]);
    timer.wait_end(bucket, context.compute());
  }
  void phase(Phase phase, std::chrono::microseconds length) {
    const auto scope = timer.measure(phase);
    std::this_thread::sleep_for(length);
  }
  /// A step as training makes it.
  void step(std::int64_t number, StepFacts facts = {}) {
    timer.start_step(number);
    phase(Phase::data, 200us);
    phase(Phase::forward, 300us);
    {
      const auto scope = timer.measure(Phase::backward);
      std::this_thread::sleep_for(200us);
      reduce(0, 1ms);
      std::this_thread::sleep_for(200us);
      reduce(1, 2ms);
    }
    {
      const auto scope = timer.measure(Phase::optimizer);
      for (int bucket : {0, 1}) {
        wait(bucket);
        std::this_thread::sleep_for(100us);
        timer.bucket_applied(bucket);
      }
    }
    timer.end_step(facts);
  }

  Context context = Context::cpu();
  std::array<Event, 2> done;
  std::vector<StepRecord> records;
  StepTimer timer;
};

double sum_of_parts(const StepRecord& r) {
  return *r.data_wait_ms + *r.forward_ms + *r.backward_ms + *r.exposed_comm_ms + *r.optimizer_ms + *r.host_ms;
}

TEST(StepTimer, PartsTileTheStepAndStepsTileTheWallTime) {
  Timed timed;
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < 20; ++k) timed.step(k);
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;

  ASSERT_EQ(timed.records.size(), 20u);
  EXPECT_EQ(timed.records[0].start_ms, 0);
  for (std::size_t k = 0; k < 20; ++k) {
    const StepRecord& r = timed.records[k];
    EXPECT_EQ(r.step, static_cast<std::int64_t>(k));
    EXPECT_NEAR(sum_of_parts(r), r.step_ms, 1e-9);
    EXPECT_GE(*r.host_ms, 0);
    if (k == 0) continue;
    EXPECT_EQ(r.start_ms, timed.records[k - 1].start_ms + timed.records[k - 1].step_ms);
  }
  const StepRecord& last = timed.records.back();
  EXPECT_LE(last.start_ms + last.step_ms, wall.count());
  EXPECT_GT(last.start_ms + last.step_ms, wall.count() - 1.0);
}

TEST(StepTimer, MeasuresWhatHappened) {
  Timed timed;
  timed.step(7, {.samples = 3, .tokens = 12, .lr = 0.5, .loss = 2.0});
  ASSERT_EQ(timed.records.size(), 1u);
  const StepRecord& r = timed.records[0];
  EXPECT_EQ(r.step, 7);
  EXPECT_EQ(r.samples, 3);
  EXPECT_EQ(r.tokens, 12);
  EXPECT_EQ(r.lr, 0.5);
  EXPECT_EQ(r.loss, 2.0);
  // Sleeping never takes less than asked for.
  EXPECT_GE(*r.data_wait_ms, 0.2);
  EXPECT_GE(*r.data_bubble_ms, *r.data_wait_ms);
  EXPECT_GE(*r.forward_ms, 0.3);
  EXPECT_GE(*r.backward_ms, 0.4);
  EXPECT_GE(*r.optimizer_ms, 0.2);
  EXPECT_GE(*r.comm_busy_ms, 3.0);
  EXPECT_GE(*r.exposed_comm_ms, 2.0) << "3 ms of communication from 0.2 ms before backward's end";
  EXPECT_FALSE(r.h2d_ms || r.host_gap_ms || r.sm_mhz || r.power_w) << "there is no GPU";
}

TEST(StepTimer, TellsEachBucketsLifeInOrder) {
  Timed timed;
  timed.step(0);
  const StepRecord& r = timed.records.at(0);
  ASSERT_EQ(r.buckets.size(), 2u);
  for (int i : {0, 1}) {
    const BucketRecord& b = r.buckets[static_cast<std::size_t>(i)];
    EXPECT_EQ(b.id, i);
    EXPECT_EQ(b.bytes, 100 * (i + 1));
    EXPECT_LT(b.ready_us, b.start_us);
    EXPECT_GE(b.end_us - b.start_us, 1000 * (i + 1));
    EXPECT_LT(b.wait_start_us, b.wait_end_us);
    EXPECT_GE(b.wait_end_us, b.end_us) << "the wait ends when the collective has";
    ASSERT_TRUE(b.applied_us);
    EXPECT_GE(*b.applied_us, b.wait_end_us + 100);
    EXPECT_LE(*b.applied_us, r.step_ms * 1e3);
  }
  EXPECT_LE(r.buckets[0].end_us, r.buckets[1].start_us) << "one stream: one after the other";
  ASSERT_EQ(r.phases.size(), 4u);
  EXPECT_EQ(r.phases[2].phase, Phase::backward);
}

TEST(StepTimer, WhatIsNotProbedIsNotMeasured) {
  Timed step(Probe::step), off(Probe::off);
  step.step(0);
  const StepRecord& s = step.records.at(0);
  EXPECT_TRUE(s.buckets.empty());
  EXPECT_FALSE(s.comm_busy_ms);
  EXPECT_GE(*s.exposed_comm_ms, 2.0);
  EXPECT_NEAR(sum_of_parts(s), s.step_ms, 1e-9);

  off.step(0, {.samples = 4});
  const StepRecord& o = off.records.at(0);
  EXPECT_GE(o.step_ms, 3.0);
  EXPECT_EQ(o.samples, 4);
  EXPECT_FALSE(o.data_wait_ms || o.data_bubble_ms || o.forward_ms || o.backward_ms || o.optimizer_ms ||
               o.exposed_comm_ms || o.comm_busy_ms || o.host_ms);
  EXPECT_TRUE(o.phases.empty());
}

TEST(StepTimer, AStepMayReduceABucketSeveralTimesOrNotAtAll) {
  Timed timed;
  timed.timer.start_step(0);
  for (int micro = 0; micro < 3; ++micro) {
    timed.reduce(0, 100us);
    timed.wait(0);
    timed.wait(0);  // clipping waits first, the update once more
  }
  timed.timer.end_step({});
  ASSERT_EQ(timed.records.size(), 1u);
  ASSERT_EQ(timed.records[0].buckets.size(), 3u);
  double waited_us = 0;
  for (const BucketRecord& b : timed.records[0].buckets) waited_us += b.wait_end_us - b.wait_start_us;
  EXPECT_GE(*timed.records[0].exposed_comm_ms * 1e3, waited_us);

  timed.timer.start_step(1);
  timed.timer.bucket_ready(0, timed.context.compute());  // --no-comm
  timed.timer.end_step({});
  EXPECT_TRUE(timed.records.at(1).buckets.empty());
  EXPECT_EQ(timed.records[1].comm_busy_ms, 0.0);
  EXPECT_EQ(timed.records[1].exposed_comm_ms, 0.0);
}

TEST(StepTimer, AnEventIsNoPartOfAStep) {
  Timed timed;
  EXPECT_THROW(timed.timer.event("evaluation"), ContractError) << "before the first step";
  timed.step(0, {.loss_follows = true});  // its record is still held back
  std::this_thread::sleep_for(5ms);
  const EventRecord first = timed.timer.event("evaluation", "loss 2");
  std::this_thread::sleep_for(3ms);
  const EventRecord second = timed.timer.event("checkpoint");
  timed.step(1);
  timed.timer.set_loss(0, 1.5);

  ASSERT_EQ(timed.records.size(), 2u);
  const StepRecord &before = timed.records[0], &after = timed.records[1];
  EXPECT_EQ(first.step, 0);
  EXPECT_EQ(first.kind, "evaluation");
  EXPECT_EQ(first.text, "loss 2");
  EXPECT_FALSE(first.inside_step);
  EXPECT_GE(first.duration_ms, 5.0);
  EXPECT_GE(second.duration_ms, 3.0);
  EXPECT_NEAR(*first.start_ms, before.start_ms + before.step_ms, 1e-9);
  EXPECT_NEAR(*second.start_ms, *first.start_ms + first.duration_ms, 1e-9);
  EXPECT_NEAR(after.start_ms, *second.start_ms + second.duration_ms, 1e-9)
      << "steps and events tile the time";
  EXPECT_NEAR(sum_of_parts(after), after.step_ms, 1e-9);
}

TEST(StepTimer, ARecordWaitsForItsLossAndForMarks) {
  Timed timed;
  timed.step(0, {.loss_follows = true});
  timed.step(1, {.loss_follows = true});
  EXPECT_TRUE(timed.records.empty());
  timed.timer.set_loss(1, 11.0, 0.25);
  EXPECT_TRUE(timed.records.empty()) << "in order";
  timed.timer.set_loss(0, 10.0);
  ASSERT_EQ(timed.records.size(), 2u);
  EXPECT_EQ(timed.records[0].loss, 10.0);
  EXPECT_FALSE(timed.records[0].grad_norm);
  EXPECT_EQ(timed.records[1].loss, 11.0);
  EXPECT_EQ(timed.records[1].grad_norm, 0.25);

  timed.timer.start_step(2);
  timed.reduce(0, 20ms);  // nobody waits for it: its end mark comes after the step's
  timed.timer.end_step({});
  EXPECT_EQ(timed.records.size(), 2u);
  timed.timer.collect_rest();
  ASSERT_EQ(timed.records.size(), 3u);
  EXPECT_GT(timed.records[2].buckets.at(0).end_us, timed.records[2].step_ms * 1e3);
  EXPECT_GE(*timed.records[2].comm_busy_ms, 20.0);
}

TEST(StepTimer, ALossThatNeverComesHoldsBackAFewStepsOnly) {
  Timed timed(Probe::step);
  const int steps = 3 * StepTimer::kInFlight;
  for (int k = 0; k < steps; ++k) {
    timed.timer.start_step(k);
    timed.timer.end_step({.loss_follows = true});
    EXPECT_EQ(static_cast<int>(timed.records.size()), std::max(0, k + 1 - StepTimer::kInFlight));
  }
  timed.timer.set_loss(0, 1.0);                             // too late: says nothing
  std::thread([&] { timed.timer.collect_rest(); }).join();  // as the thread that waits for signals
  ASSERT_EQ(static_cast<int>(timed.records.size()), steps);
  for (int k = 0; k < steps; ++k) {
    EXPECT_EQ(timed.records[static_cast<std::size_t>(k)].step, k);
    EXPECT_FALSE(timed.records[static_cast<std::size_t>(k)].loss);
  }
}

TEST(StepTimer, AnotherThreadMayCollectWhileStepsGoOn) {
  Timed timed(Probe::step);
  std::atomic<bool> stop{false};
  std::thread collector([&] {
    while (!stop) timed.timer.collect_rest();
  });
  for (int k = 0; k < 300; ++k) {
    timed.timer.start_step(k);
    timed.phase(Phase::forward, 20us);
    timed.timer.end_step({.loss_follows = true});
    if (k > 0) timed.timer.set_loss(k - 1, k);
  }
  stop = true;
  collector.join();
  timed.timer.collect_rest();
  ASSERT_EQ(timed.records.size(), 300u);
  for (std::size_t k = 1; k < 300; ++k)
    EXPECT_EQ(timed.records[k].start_ms, timed.records[k - 1].start_ms + timed.records[k - 1].step_ms);
}

TEST(StepTimer, OfCapturedStepsSomeAreMeasuredAndPassTheSameMarksAgain) {
  Context context = Context::cpu();
  std::vector<StepRecord> records;
  StepTimer timer(context, Probe::bucket, {100}, [&](const StepRecord& r) { records.push_back(r); },
                  {.on = true, .every = 10, .first = 2});
  bool captured = false;
  for (int k = 0; k < 25; ++k) {
    timer.start_step(k);
    for (int micro = 0; micro < 2; ++micro) {
      {
        const auto scope = timer.measure(Phase::data);
        std::this_thread::sleep_for(k == 12 ? 2ms : 100us);
      }
      if (captured) continue;  // host code in a graph does not run again
      const auto scope = timer.measure(Phase::forward);
    }
    if (timer.measuring()) captured = true;
    timer.end_step({});
  }
  timer.collect_rest();
  ASSERT_EQ(records.size(), 25u);
  for (const StepRecord& record : records) {
    const bool measured = record.step == 2 || record.step == 12 || record.step == 22;
    EXPECT_EQ(record.forward_ms.has_value(), measured) << record.step;
    EXPECT_EQ(record.data_wait_ms.has_value(), measured) << record.step;
    EXPECT_EQ(record.phases.size(), measured ? 4u : 0u) << record.step;
  }
  EXPECT_GE(*records[12].data_bubble_ms, 4.0);
  EXPECT_GE(*records[12].data_wait_ms, 4.0);
  EXPECT_LT(*records[22].data_bubble_ms, 4.0);
  EXPECT_GT(records[22].phases[2].start_us, records[22].phases[0].end_us - 1);
}

TEST(StepTimer, RefusesCallsOutOfOrder) {
  Timed timed;
  EXPECT_THROW((void)timed.timer.measure(Phase::forward), ContractError);
  EXPECT_THROW(timed.timer.end_step({}), ContractError);
  timed.timer.start_step(0);
  EXPECT_THROW(timed.timer.start_step(1), ContractError);
  {
    const auto scope = timed.timer.measure(Phase::forward);
    EXPECT_THROW((void)timed.timer.measure(Phase::backward), ContractError);
    EXPECT_THROW(timed.timer.end_step({}), ContractError);
  }
  timed.timer.end_step({});
}

}  // namespace
}  // namespace tandem

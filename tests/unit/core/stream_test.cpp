// Streams, events and time marks of the CPU, and the tasks that they queue.
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/device/context.h"
#include "tests/support/allocation_counter.h"

namespace tandem {

namespace {

using std::chrono::milliseconds;

void sleep(int ms) {
  std::this_thread::sleep_for(milliseconds(ms));
}

TEST(Task, RunsAndOwnsWhatItCaptured) {
  auto value = std::make_shared<int>(0);
  {
    Task task = [value] { ++*value; };
    Task moved = std::move(task);
    EXPECT_FALSE(task);
    moved();
    task = std::move(moved);
    task();
    EXPECT_EQ(value.use_count(), 2);
  }
  EXPECT_EQ(*value, 2);
  EXPECT_EQ(value.use_count(), 1);
}

TEST(Stream, ComputeRunsAtOnceOnTheCallingThread) {
  Context context = Context::cpu();
  std::thread::id ran_on;
  context.compute().enqueue([&] { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(Stream, CommKeepsOrderOnOneOtherThread) {
  Context context = Context::cpu();
  std::vector<int> order;
  std::thread::id ran_on;
  for (int i = 0; i < 5000; ++i)  // more than the queue's first capacity
    context.comm().enqueue([&order, &ran_on, i] {
      order.push_back(i);
      ran_on = std::this_thread::get_id();
    });
  context.comm().synchronize();
  ASSERT_EQ(order.size(), 5000u);
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(order[i], i);
  EXPECT_NE(ran_on, std::this_thread::get_id());
}

TEST(Event, NeverRecordedCountsAsReached) {
  Context context = Context::cpu();
  const Event event = context.make_event();
  EXPECT_TRUE(event.reached());
  event.synchronize();
  context.comm().wait(event);
  context.comm().synchronize();
}

TEST(Event, ComputeWaitsForComm) {
  Context context = Context::cpu();
  Event done = context.make_event();
  int value = 0;
  context.comm().enqueue([&] {
    sleep(20);
    value = 1;
  });
  context.comm().record(done);
  EXPECT_FALSE(done.reached());
  context.compute().wait(done);
  EXPECT_EQ(value, 1);
  EXPECT_TRUE(done.reached());
}

TEST(Event, AWorkerWaitsForAnotherWorkerWithoutHoldingUpTheHost) {
  Context first = Context::cpu(), second = Context::cpu();
  Event event = first.make_event();
  int value = 0, seen = -1;
  first.comm().enqueue([&] {
    sleep(20);
    value = 7;
  });
  first.comm().record(event);
  second.comm().wait(event);
  second.comm().enqueue([&] { seen = value; });
  second.comm().synchronize();
  EXPECT_EQ(seen, 7);
}

TEST(Event, AWaitIsForTheRecordingBeforeIt) {
  Context first = Context::cpu(), second = Context::cpu();
  Event event = first.make_event();
  std::atomic<bool> may_go_on = false;
  first.comm().record(event);
  second.comm().wait(event);
  first.comm().enqueue([&] {
    while (!may_go_on) sleep(1);
  });
  first.comm().record(event);   // recorded again, not reached
  second.comm().synchronize();  // would hang if it waited for the second recording
  EXPECT_FALSE(event.reached());
  may_go_on = true;
  first.comm().synchronize();
  EXPECT_TRUE(event.reached());
}

TEST(Event, MayBeDestroyedBeforeItsStreamGetsThere) {
  Context context = Context::cpu();
  std::atomic<bool> may_go_on = false;
  context.comm().enqueue([&] {
    while (!may_go_on) sleep(1);
  });
  {
    Event event = context.make_event();
    TimeMark mark = context.make_time_mark();
    context.comm().record(event);
    context.comm().wait(event);
    context.comm().mark(mark);
  }
  may_go_on = true;
  context.comm().synchronize();
}

TEST(Stream, AnExceptionIsRethrownAtEveryLaterWait) {
  Context context = Context::cpu();
  Event before = context.make_event(), after = context.make_event();
  bool skipped = true;
  context.comm().record(before);
  context.comm().enqueue([] { throw std::runtime_error("link down"); });
  context.comm().enqueue([&] { skipped = false; });
  context.comm().record(after);
  EXPECT_THROW(context.compute().wait(after), std::runtime_error);
  EXPECT_THROW(after.synchronize(), std::runtime_error);
  EXPECT_THROW(context.comm().synchronize(), std::runtime_error);
  EXPECT_NO_THROW(before.synchronize());
  EXPECT_TRUE(skipped);
}

TEST(Stream, AnExceptionPassesFromWorkerToWorker) {
  Context first = Context::cpu(), second = Context::cpu();
  Event event = first.make_event();
  first.comm().enqueue([] { throw std::runtime_error("link down"); });
  first.comm().record(event);
  second.comm().wait(event);
  EXPECT_THROW(second.comm().synchronize(), std::runtime_error);
}

TEST(Stream, ItsDestructorFinishesTheQueue) {
  int done = 0;
  {
    Context context = Context::cpu();
    for (int i = 0; i < 5; ++i)
      context.comm().enqueue([&] {
        sleep(2);
        ++done;
      });
  }
  EXPECT_EQ(done, 5);
}

TEST(TimeMark, MeasuresAcrossStreams) {
  Context context = Context::cpu();
  TimeMark start = context.make_time_mark(), end = context.make_time_mark();
  EXPECT_FALSE(start.reached());
  context.compute().mark(start);
  context.comm().enqueue([] { sleep(10); });
  context.comm().mark(end);
  EXPECT_TRUE(start.reached());
  context.comm().synchronize();
  ASSERT_TRUE(end.reached());
  EXPECT_GE(end.us_since(start), 10'000.0);
  EXPECT_LT(end.us_since(start), 5'000'000.0);
  EXPECT_DOUBLE_EQ(start.us_since(end), -end.us_since(start));
}

TEST(Stream, ASteadyStepAllocatesNothing) {
  Context context = Context::cpu();
  Event ready = context.make_event(), done = context.make_event();
  TimeMark mark = context.make_time_mark();
  std::atomic<int> sum = 0;
  const auto step = [&] {
    for (int bucket = 0; bucket < 20; ++bucket) {
      context.compute().record(ready);
      context.comm().wait(ready);
      context.comm().mark(mark);
      context.comm().enqueue([&sum, bucket] { sum += bucket; });
      context.comm().record(done);
    }
    context.compute().wait(done);
    context.comm().synchronize();
  };
  for (int i = 0; i < 3; ++i) step();
  const auto before = allocations();
  for (int i = 0; i < 100; ++i) step();
  EXPECT_EQ(allocations() - before, 0);
  EXPECT_EQ(sum, 103 * 190);
}

}  // namespace

}  // namespace tandem

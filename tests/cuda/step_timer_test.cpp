#include "core/telemetry/step_timer.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/device/graph.h"
#include "core/ops/convert.h"
#include "core/tensor/arena.h"

namespace tandem {
namespace {

TEST(StepTimerOnAGpu, EveryReplayOfACapturedStepHasItsOwnTimes) {
  Context context = Context::cuda(0);
  constexpr std::int64_t kCount = 1 << 26;  // 0.25 GB to read, 0.13 to write: some tenths of a millisecond
  Arena arena(context, kCount * 6 + 2 * Arena::kAlignment);
  const Tensor x = arena.allocate(DType::f32, {kCount}), y = arena.allocate(DType::bf16, {kCount});

  std::vector<StepRecord> records;
  StepTimer timer(context, Probe::bucket, {100}, [&](const StepRecord& r) { records.push_back(r); },
                  {.on = true, .every = 10, .first = 2});
  Event ready = context.make_event(), done = context.make_event();
  const auto part = [&] {
    {
      const auto scope = timer.measure(Phase::forward);
      ops::convert(context, x, y);
    }
    const auto scope = timer.measure(Phase::backward);
    timer.bucket_ready(0, context.compute());
    context.compute().record(ready);
    context.comm().wait(ready);
    timer.bucket_start(0, context.comm());
    context.comm().copy(x.data(), static_cast<std::byte*>(x.data()) + kCount, kCount);
    timer.bucket_end(0, context.comm());
    context.comm().record(done);
    timer.wait_start(0, context.compute());
    context.compute().wait(done);
    timer.wait_end(0, context.compute());
  };
  Graph plain, measured;
  for (int k = 0; k < 40; ++k) {
    timer.start_step(k);
    {
      const auto scope = timer.measure(Phase::data);
      if (k == 22) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    Graph& graph = timer.measuring() ? measured : plain;
    if (!graph) graph = context.capture(part);
    graph.launch(context.compute());
    timer.end_step({});
  }
  context.compute().synchronize();
  timer.collect_rest();

  ASSERT_EQ(records.size(), 40u);
  for (const StepRecord& record : records) {
    const bool in_turn = record.step % 10 == 2;
    ASSERT_EQ(record.forward_ms.has_value(), in_turn) << record.step;
    if (!in_turn) continue;
    EXPECT_GT(*record.forward_ms, 0.02) << record.step;
    ASSERT_EQ(record.buckets.size(), 1u);
    const BucketRecord& bucket = record.buckets[0];
    double before = 0;  // in this order, within this step and no other
    for (const double us :
         {bucket.ready_us, bucket.start_us, bucket.end_us, bucket.wait_end_us, record.step_ms * 1e3}) {
      EXPECT_GE(us, before) << record.step;
      before = us;
    }
    EXPECT_GE(bucket.ready_us, *record.forward_ms * 1e3);
  }
}

}  // namespace
}  // namespace tandem

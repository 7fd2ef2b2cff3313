#include <cstdio>
#include <memory>

#include <gtest/gtest.h>

#include "core/telemetry/console.h"
#include "core/telemetry/run_log.h"
#include "core/telemetry/step_history.h"
#include "core/telemetry/step_timer.h"
#include "tests/support/allocation_counter.h"
#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

constexpr int kBuckets = 12, kMicroBatches = 2;

void step(StepTimer& timer, Context& context, std::int64_t number) {
  timer.start_step(number);
  for (int micro = 0; micro < kMicroBatches; ++micro) {
    { const auto scope = timer.measure(Phase::data); }
    { const auto scope = timer.measure(Phase::forward); }
    const auto scope = timer.measure(Phase::backward);
    for (int b = 0; b < kBuckets; ++b) {
      timer.bucket_ready(b, context.compute());
      timer.bucket_start(b, context.comm());
      timer.bucket_end(b, context.comm());
    }
  }
  {
    const auto scope = timer.measure(Phase::optimizer);
    context.comm().synchronize();
    for (int b = 0; b < kBuckets; ++b) {
      timer.wait_start(b, context.compute());
      timer.wait_end(b, context.compute());
      timer.bucket_applied(b);
    }
  }
  timer.end_step({.samples = 8, .tokens = 1024, .lr = 1e-3, .loss_follows = true});
  if (number > 0) timer.set_loss(number - 1, 2.5);
}

TEST(Allocations, TimingLoggingAndShowingAStepMakesNoneAfterTheSecond) {
  constexpr int kSteps = 200;
  const TempFolder folder;
  Context context = Context::cpu();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen("/dev/null", "w"), std::fclose);
  RunLog log(folder.path(), 0);
  Console console(out.get(), {}, {.steps = kSteps, .ranks = 2, .log_every = 1});
  StepHistory history(kSteps, kMicroBatches * kBuckets, 3 * kMicroBatches + 1);
  StepTimer timer(context, Probe::bucket, std::vector<std::int64_t>(kBuckets, 1 << 20),
                  [&](const StepRecord& r) {
                    log.append(r);
                    console.step(r);
                    history.add(r);
                  });
  step(timer, context, 0);
  step(timer, context, 1);
  const auto before = allocations();
  for (int k = 2; k < kSteps; ++k) step(timer, context, k);
  EXPECT_EQ(allocations(), before);
  timer.collect_rest();
  EXPECT_EQ(history.records().size(), static_cast<std::size_t>(kSteps));
}

}  // namespace
}  // namespace tandem

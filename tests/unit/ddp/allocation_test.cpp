#include <functional>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "core/comm/world.h"
#include "ddp/parameter_gather.h"
#include "ddp/sharded_norm.h"
#include "examples/power_sgd.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/toy_rank.h"

namespace tandem {
namespace {

using testing::ToyRank;

/// `zero`: with sharded state, and ordinary otherwise.
void expect_free_steps(World& world, ReducerOptions options, bool zero = false) {
  auto context = Context::cpu();
  ToyRank rank(context, world.comm(), {5000, 300, 0, 7000, 33, 12000}, {1, 5, 4, 3, 2, 1, 0},
               {.cap_mb = 0.01, .first_cap_mb = 0.01}, options);
  std::vector<LayoutRange> owned;
  std::unique_ptr<GradientNorm> norm = std::make_unique<GradientNorm>(context, rank.store);
  std::optional<ParameterGather> gather;
  if (zero) {
    owned = rank.plan.shares(world.rank(), world.size());
    norm = std::make_unique<ShardedNorm>(context, world.comm(), rank.plan, rank.store);
    gather.emplace(context, world.comm(), rank.plan, rank.store, options.overlap);
  }
  const auto adamw = make_adamw(context, rank.store, {}, owned);
  const auto step = [&](int micro_batches) {
    for (const Parameter* parameter : rank.store.parameters()) parameter->read();
    rank.step(micro_batches);
    norm->compute();
    adamw->start_step(1e-3);
    adamw->clip(*norm, 1.0);
    for (const Bucket& bucket : rank.reducer.buckets())
      adamw->update_slice(bucket.spec->offset, bucket.spec->numel);
    if (gather) gather->start();
  };
  for (int i = 0; i < 3; ++i) step(2);
  const auto before = allocations();
  for (int i = 0; i < 20; ++i) step(1 + i % 2);
  EXPECT_EQ(allocations(), before);
  rank.step();  // nobody leaves, and allocates, while another still counts
}

TEST(Allocations, AStepMakesNoneAfterItsSecond) {
  for (int ranks : {1, 2})
    for (bool overlap : {true, false})
      for (bool view : {true, false})
        run_threads(ranks, [&](World& world) {
          expect_free_steps(world, {.overlap = overlap, .gradient_as_bucket_view = view});
        });
}

TEST(Allocations, HooksAndShardsMakeNoneEither) {
  for (bool overlap : {true, false})
    run_threads(2, [&](World& world) {
      expect_free_steps(world, {.overlap = overlap}, /*zero=*/true);
      for (const auto& make : {std::function([] { return make_cast_hook(DType::bf16); }),
                               std::function([] { return make_power_sgd({}); })}) {
        const auto hook = make();
        expect_free_steps(world, {.overlap = overlap, .hook = hook.get()});
      }
    });
}

}  // namespace
}  // namespace tandem

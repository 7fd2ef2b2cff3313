#include <gtest/gtest.h>

#include "core/comm/world.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/toy_rank.h"

namespace tandem {
namespace {

using testing::ToyRank;

void expect_free_steps(World& world, ReducerOptions options) {
  auto context = Context::cpu();
  ToyRank rank(context, world.comm(), {5000, 300, 0, 7000, 33, 12000}, {1, 5, 4, 3, 2, 1, 0},
               {.cap_mb = 0.01, .first_cap_mb = 0.01}, options);
  GradientNorm norm(context, rank.store);
  const auto adamw = make_adamw(context, rank.store, {});
  const auto step = [&](int micro_batches) {
    rank.step(micro_batches);
    norm.compute();
    adamw->start_step(1e-3);
    adamw->clip(norm, 1.0);
    for (const Bucket& bucket : rank.reducer.buckets())
      adamw->update_slice(bucket.spec->offset, bucket.spec->numel);
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

}  // namespace
}  // namespace tandem

#include <gtest/gtest.h>

#include "tests/dist/comm/ranks.h"
#include "tests/support/toy_rank.h"

namespace tandem {
namespace {

using testing::gradients;
using testing::on_every_rank;
using testing::ToyModule;
using testing::ToyRank;

// p1 is used twice, p2 is empty.
const std::vector<std::int64_t> kSizes = {5000, 300, 0, 7000, 33, 12000};
const std::vector<int> kScript = {1, 5, 4, 3, 2, 1, 0};

/// What the ranks' gradients should add up to, without any of the code under test.
std::vector<float> expected_sum(int ranks, int micro_batches) {
  auto context = Context::cpu();
  std::vector<float> sum;
  for (int rank = 0; rank < ranks; ++rank) {
    ToyModule module(kSizes, kScript);
    const auto all = module.parameters();
    const auto store = ParameterStore::allocate(context, ParameterLayout::in_order(all), all);
    module.bias = rank;
    IgnoreGradients ignore;
    for (int k = 0; k < micro_batches; ++k) module.backward(context, {}, ignore);
    const auto mine = gradients(module);
    sum.resize(mine.size());
    for (std::size_t i = 0; i < mine.size(); ++i) sum[i] += mine[i];
  }
  return sum;
}

struct Setting {
  ReducerOptions options;
  BucketOptions caps;
};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (bool overlap : {true, false})
    for (bool view : {true, false})
      for (double cap : {0.001, 0.03, 100.0})
        for (BucketOrder order : {BucketOrder::ready, BucketOrder::reverse, BucketOrder::forward})
          all.push_back({{.overlap = overlap, .gradient_as_bucket_view = view},
                         {.cap_mb = cap, .first_cap_mb = 0.01, .order = order}});
  return all;
}

TEST(ReducerRanks, SumsExactlyWhateverTheOptions) {
  on_every_rank([](World& world, Context& context) {
    const auto once = expected_sum(world.size(), 1), thrice = expected_sum(world.size(), 3);
    for (const Setting& setting : settings()) {
      ToyRank rank(context, world.comm(), kSizes, kScript, setting.caps, setting.options);
      for (int step = 0; step < 3; ++step) {
        rank.step();
        EXPECT_EQ(gradients(rank.module), once);
        rank.step(/*micro_batches=*/3);
        EXPECT_EQ(gradients(rank.module), thrice);
      }
    }
  });
}

TEST(ReducerRanks, SynchronisingAtEveryMicroBatchGivesTheSameSum) {
  on_every_rank([](World& world, Context& context) {
    const auto thrice = expected_sum(world.size(), 3);
    for (const Setting& setting : settings()) {
      ToyRank rank(context, world.comm(), kSizes, kScript, setting.caps, setting.options);
      for (int step = 0; step < 2; ++step) {
        rank.store.start_accumulation();
        for (int k = 0; k < 3; ++k) {
          rank.backward(/*sync=*/true);
          rank.reducer.finish();
        }
        rank.wait_all();
        EXPECT_EQ(gradients(rank.module), thrice);
      }
    }
  });
}

TEST(ReducerRanks, WithoutCommunicationEachKeepsItsOwn) {
  on_every_rank([](World& world, Context& context) {
    for (bool view : {true, false}) {
      const ReducerOptions options{.gradient_as_bucket_view = view, .communicate = false};
      ToyRank rank(context, world.comm(), kSizes, kScript, {}, options);
      rank.step();
      const auto* p3 = rank.module.parameter(3).grad.as<float>();
      EXPECT_EQ(p3[0], 3 + world.rank());  // the script's fourth contribution
    }
  });
}

}  // namespace
}  // namespace tandem

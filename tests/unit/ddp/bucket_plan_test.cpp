#include "ddp/bucket_plan.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "core/base/philox.h"

namespace tandem {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

/// Parameters that stay put, made from their numbers of elements.
struct Model {
  explicit Model(const std::vector<std::int64_t>& sizes, DType dtype = DType::f32) {
    for (std::int64_t size : sizes)
      parameters.emplace_back(fmt::format("p{}", parameters.size()), Shape{size}, Init::zeros(), true, dtype);
  }
  ParameterList list() {
    ParameterList all;
    for (Parameter& p : parameters) all.push_back(&p);
    return all;
  }
  BucketPlan plan(const BucketOptions& options, int world = 1) {
    const auto all = list();
    return BucketPlan::make(all, ParameterList(all.rbegin(), all.rend()), options, world);
  }
  std::deque<Parameter> parameters;
};

ParameterList flattened(const BucketPlan& plan) {
  ParameterList all;
  for (const BucketSpec& bucket : plan.buckets)
    all.insert(all.end(), bucket.parameters.begin(), bucket.parameters.end());
  return all;
}

/// Everything that holds for any plan.
void expect_sound(const BucketPlan& plan, const ParameterList& expected_order, const BucketOptions& options,
                  int world) {
  ASSERT_EQ(flattened(plan), expected_order);
  const auto& entries = plan.layout.entries();
  ASSERT_EQ(entries.size(), expected_order.size());
  std::int64_t end = 0;
  std::size_t entry = 0;
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    const BucketSpec& bucket = plan.buckets[i];
    ASSERT_EQ(bucket.offset, end) << "buckets leave no gap";
    end += bucket.numel;
    const auto size = static_cast<std::int64_t>(size_of(plan.layout.dtype()));
    EXPECT_EQ(bucket.bytes(plan.layout.dtype()) % (128 * world), 0);
    EXPECT_EQ(bucket.offset * size % (128 * world), 0);

    std::int64_t payload = 0, reached = bucket.offset;
    for (const Parameter* p : bucket.parameters) {
      ASSERT_EQ(entries[entry].parameter, p);
      EXPECT_EQ(entries[entry].offset % ParameterLayout::kAlignment, 0);
      EXPECT_GE(entries[entry].offset, reached) << "parameters overlap";
      reached = entries[entry++].offset + p->numel();
      payload += p->numel() * size;
    }
    EXPECT_LE(reached, end);
    EXPECT_EQ(bucket.payload_bytes, payload);

    const double cap = i == 0 ? std::min(options.first_cap_mb, options.cap_mb) : options.cap_mb;
    const bool above = static_cast<double>(bucket.numel * size) > cap * kMiB;
    EXPECT_TRUE(!above || bucket.parameters.size() == 1) << "bucket " << i << " is above its cap";
  }
  EXPECT_EQ(plan.layout.numel(), end);
}

TEST(BucketPlan, IsSoundForRandomModels) {
  Philox random(std::random_device{}());
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> sizes;
    for (auto n = 1 + below(40); n > 0; --n) sizes.push_back(below(4) == 0 ? below(3) : below(60000));
    Model model(sizes, below(3) == 0 ? DType::f64 : DType::f32);
    const BucketOptions options{.cap_mb = 0.01 + 0.3 * random.uniform(),
                                .first_cap_mb = 0.01 + 0.3 * random.uniform(),
                                .order = static_cast<BucketOrder>(below(3))};
    const int world = 1 + static_cast<int>(below(5));
    ParameterList defined = model.list(), ready = defined;
    std::shuffle(ready.begin(), ready.end(), random);

    ParameterList order = options.order == BucketOrder::ready ? ready : defined;
    if (options.order == BucketOrder::reverse) std::reverse(order.begin(), order.end());
    expect_sound(BucketPlan::make(defined, ready, options, world), order, options, world);
    if (::testing::Test::HasFailure()) FAIL() << "in round " << round;
  }
}

TEST(BucketPlan, FillsBucketsGreedily) {
  Model model(std::vector<std::int64_t>(10, kMiB / 4));  // 1 MiB each, taken from the last
  const auto plan = model.plan({.cap_mb = 3, .first_cap_mb = 1});
  ASSERT_EQ(plan.buckets.size(), 4u);
  EXPECT_EQ(plan.buckets[0].parameters, ParameterList{&model.parameters[9]});
  for (int i = 1; i < 4; ++i) EXPECT_EQ(plan.buckets[i].parameters.size(), 3u);
}

TEST(BucketPlan, PaddingCountsAgainstTheCap) {
  Model model({kMiB / 8, 1, kMiB / 8});  // half a MiB, one number, half a MiB: with padding more than one MiB
  EXPECT_EQ(model.plan({.cap_mb = 1, .first_cap_mb = 1}).buckets.size(), 2u);
  Model exact({kMiB / 8, kMiB / 8});
  EXPECT_EQ(exact.plan({.cap_mb = 1, .first_cap_mb = 1}).buckets.size(), 1u);
}

TEST(BucketPlan, LargeParameterStandsAlone) {
  Model model({10, kMiB, 10, 10});
  const auto plan = model.plan({.cap_mb = 1, .first_cap_mb = 1});
  ASSERT_EQ(plan.buckets.size(), 3u);
  EXPECT_EQ(plan.buckets[0].parameters.size(), 2u);
  EXPECT_EQ(plan.buckets[1].parameters, ParameterList{&model.parameters[1]});
  EXPECT_EQ(plan.buckets[2].parameters.size(), 1u);
}

TEST(BucketPlan, CapAboveTheModelGivesOneBucketAndTheFirst) {
  Model model(std::vector<std::int64_t>(10, kMiB / 4));
  EXPECT_EQ(model.plan({.cap_mb = 1000, .first_cap_mb = 1000}).buckets.size(), 1u);
  EXPECT_EQ(model.plan({.cap_mb = 1000, .first_cap_mb = 2}).buckets.size(), 2u);
}

TEST(BucketPlan, FirstCapIsNeverAboveTheCap) {
  Model model(std::vector<std::int64_t>(8, kMiB / 16));  // 0.25 MiB each
  const auto plan = model.plan({.cap_mb = 0.25, .first_cap_mb = 1});
  EXPECT_EQ(plan.buckets.size(), 8u);
}

TEST(BucketPlan, OrdersDiffer) {
  Model model({5, 6, 7});
  const auto all = model.list();
  const ParameterList ready = {all[1], all[2], all[0]};
  const auto order_of = [&](BucketOrder order) {
    return flattened(BucketPlan::make(all, ready, {.order = order}, 2));
  };
  EXPECT_EQ(order_of(BucketOrder::ready), ready);
  EXPECT_EQ(order_of(BucketOrder::reverse), (ParameterList{all[2], all[1], all[0]}));
  EXPECT_EQ(order_of(BucketOrder::forward), all);
}

TEST(BucketPlan, EmptyParametersCountAndFrozenOnesDoNot) {
  Model model({0, 40, 0, 50, 0});
  model.parameters[1].frozen = true;
  const auto plan = model.plan({});
  ASSERT_EQ(plan.buckets.size(), 1u);
  EXPECT_EQ(plan.buckets[0].parameters.size(), 4u);
  EXPECT_EQ(plan.buckets[0].payload_bytes, 200);

  Model nothing({0, 0});
  ASSERT_EQ(nothing.plan({}).buckets.size(), 1u);
  EXPECT_EQ(nothing.plan({}).buckets[0].numel, 0);

  Model frozen({8});
  frozen.parameters[0].frozen = true;
  EXPECT_TRUE(frozen.plan({}).buckets.empty());
}

TEST(BucketPlan, ParametersThatNeverBecomeReadyComeLast) {
  Model model({1, 2, 3, 4});
  const auto all = model.list();
  const auto plan = BucketPlan::make(all, {all[3], all[1]}, {}, 1);
  EXPECT_EQ(flattened(plan), (ParameterList{all[3], all[1], all[0], all[2]}));
}

TEST(BucketPlan, RefusesCapsThatMakeNoSense) {
  Model model({8});
  const double inf = std::numeric_limits<double>::infinity();
  for (double bad : {0.0, -1.0, std::nan(""), inf, -inf, 1e9}) {
    EXPECT_THROW(model.plan({.cap_mb = bad}), UsageError) << bad;
    EXPECT_THROW(model.plan({.first_cap_mb = bad}), UsageError) << bad;
  }
  EXPECT_NO_THROW(model.plan({.cap_mb = 0.25, .first_cap_mb = 1e-6}));
}

TEST(BucketPlan, RefusesListsThatDoNotFit) {
  Model model({8, 9});
  const auto all = model.list();
  Parameter stranger("stranger", Shape{3}, Init::zeros(), true);
  EXPECT_THROW(BucketPlan::make(all, {all[0], &stranger}, {}, 1), ContractError);
  EXPECT_THROW(BucketPlan::make(all, {all[0], all[0]}, {}, 1), ContractError);
  EXPECT_THROW(BucketPlan::make({all[0], all[0]}, {}, {}, 1), ContractError);
  EXPECT_THROW(BucketPlan::make(all, all, {}, 0), ContractError);
}

}  // namespace
}  // namespace tandem

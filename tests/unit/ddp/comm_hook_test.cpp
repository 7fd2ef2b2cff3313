#include "ddp/comm_hook.h"

#include <deque>

#include <gtest/gtest.h>

#include "core/nn/parameter_store.h"
#include "examples/power_sgd.h"

namespace tandem {
namespace {

struct Model {
  Model() {
    parameters.emplace_back("a", Shape{100, 200}, Init::zeros(), true);
    parameters.emplace_back("b", Shape{33}, Init::zeros(), true);
    parameters.emplace_back("c", Shape{3, 5, 7}, Init::zeros(), true);
    for (Parameter& p : parameters) list.push_back(&p);
  }
  std::deque<Parameter> parameters;
  ParameterList list;
};

TEST(BucketGradients, AreTheParametersOwnWithoutPadding) {
  auto context = Context::cpu();
  Model model;
  const auto plan = BucketPlan::make(model.list, {}, {.cap_mb = 0.001}, 4);
  ASSERT_GT(plan.buckets.size(), 1u);
  const auto store = ParameterStore::allocate(context, plan.layout, model.list);
  std::size_t seen = 0;
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    const BucketSpec& spec = plan.buckets[i];
    const auto bucket =
        BucketGradients::view(plan, static_cast<int>(i), store.grads().slice(spec.offset, spec.numel));
    ASSERT_EQ(bucket.gradients.size(), spec.parameters.size());
    for (std::size_t k = 0; k < bucket.gradients.size(); ++k, ++seen) {
      EXPECT_EQ(bucket.gradients[k].data(), spec.parameters[k]->grad.data());
      EXPECT_EQ(bucket.gradients[k].shape().str(), spec.parameters[k]->shape.str());
    }
  }
  EXPECT_EQ(seen, 3u);
}

TEST(CommHook, BytesOnTheWireAndInMemoryAreAsComputed) {
  Model model;
  const auto plan = BucketPlan::make(model.list, {}, {}, 2);
  ASSERT_EQ(plan.buckets.size(), 1u);
  const std::int64_t n = plan.buckets[0].numel;
  const auto bytes = [&](std::unique_ptr<CommHook> hook) { return wire_bytes(*hook, plan).at(0); };
  const auto memory = [&](std::unique_ptr<CommHook> hook) { return hook_bytes(*hook, plan); };
  EXPECT_EQ(bytes(make_plain_hook()), 4 * n);
  EXPECT_EQ(bytes(make_plain_hook(SumOn::own_share)), 2 * n);
  EXPECT_EQ(bytes(make_cast_hook(DType::bf16)), 2 * n);
  EXPECT_EQ(bytes(make_cast_hook(DType::f16, SumOn::own_share)), n);
  EXPECT_EQ(memory(make_plain_hook()), 0);
  EXPECT_EQ(memory(make_cast_hook(DType::bf16)), (2 * n + 255) / 256 * 256);

  // a: P of 100 · 2, Q of 200 · 2; c, seen as [15, 7]: 15 · 2, 7 · 2; b as it is. Pieces are padded to 32
  // elements. In memory lie errors of a's and c's size, too.
  const std::int64_t first = 4 * (224 + 32 + 64), second = 4 * (416 + 32);
  EXPECT_EQ(bytes(make_power_sgd({.rank = 2})), first + second);
  const auto whole = [](std::int64_t n_bytes) { return (n_bytes + 255) / 256 * 256; };
  EXPECT_EQ(memory(make_power_sgd({.rank = 2})),
            whole(4 * 20'000) + whole(4 * 105) + whole(first) + whole(second));
  EXPECT_THROW(make_cast_hook(DType::i64), ContractError);
  EXPECT_THROW(make_power_sgd({.rank = 0}), ContractError);
}

TEST(CommHook, Bf16GradientsAreReducedInFp32WhereAsked) {
  Model model;
  const auto plan = BucketPlan::make(model.list, {}, {.grad_dtype = DType::bf16}, 2);
  const auto hook = make_cast_hook(DType::f32);
  EXPECT_EQ(wire_bytes(*hook, plan).at(0), 4 * plan.buckets[0].numel);
  const auto power = make_power_sgd({});
  EXPECT_THROW(wire_bytes(*power, plan), ContractError);
}

}  // namespace
}  // namespace tandem

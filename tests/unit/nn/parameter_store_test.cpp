#include "core/nn/parameter_store.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace tandem {
namespace {

Parameter normal(const std::string& name, Shape shape, double stddev = 1) {
  return {name, shape, Init::normal(stddev), /*decay=*/true};
}

std::vector<float> values_of(const Parameter& parameter) {
  const float* data = parameter.value.as<float>();
  return {data, data + parameter.numel()};
}

/// The values that a parameter gets in a store of its own.
std::vector<float> alone(const std::string& name, Shape shape, std::uint64_t seed) {
  const Context context = Context::cpu();
  Parameter p = normal(name, shape);
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&p}), {&p});
  store.initialize(seed);
  return values_of(p);
}

TEST(ParameterStore, BindsViewsOfFlatMemory) {
  const Context context = Context::cpu();
  Parameter a = normal("a", {3, 5}), b = normal("b", {7});
  const auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&a, &b}), {&a, &b});
  EXPECT_EQ(store.values().numel(), 39);
  EXPECT_EQ(a.value.data(), store.values().data());
  EXPECT_EQ(b.grad.as<float>(), store.grads().as<float>() + 32);
  EXPECT_EQ(a.grad.shape(), (Shape{3, 5}));
  EXPECT_TRUE(
      std::all_of(store.grads().as<float>(), store.grads().as<float>() + 39, [](float g) { return g == 0; }));
}

TEST(ParameterStore, ViewsOutliveAMove) {
  const Context context = Context::cpu();
  Parameter a = normal("a", {3});
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&a}), {&a});
  ParameterStore moved = std::move(store);
  moved.initialize(1);
  EXPECT_EQ(a.value.data(), moved.values().data());
}

TEST(ParameterStore, FrozenParametersHaveValuesButNoGradient) {
  const Context context = Context::cpu();
  Parameter a = normal("a", {4}), b = normal("b", {4});
  a.frozen = true;
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&a, &b}), {&a, &b});
  store.initialize(1);
  EXPECT_FALSE(a.grad);
  EXPECT_NE(values_of(a)[0], 0.0f);
  EXPECT_EQ(store.values().numel(), 4);
}

TEST(ParameterStore, ValuesDependOnSeedAndNameAlone) {
  const Context context = Context::cpu();
  Parameter a = normal("a", {6}), b = normal("b", {6});
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&b, &a}), {&a, &b});
  store.initialize(7);
  EXPECT_EQ(values_of(a), alone("a", {6}, 7));
  EXPECT_NE(values_of(a), values_of(b));
  EXPECT_NE(values_of(a), alone("a", {6}, 8));
  const std::vector<float> longer = alone("a", {9}, 7);  // element i does not depend on the size
  EXPECT_TRUE(std::equal(longer.begin(), longer.begin() + 6, values_of(a).begin()));
}

TEST(ParameterStore, DrawsTheAskedForDistributions) {
  const Context context = Context::cpu();
  constexpr std::int64_t n = 200001;
  Parameter gauss = normal("gauss", {n}, 0.5);
  Parameter flat("flat", {n}, Init::uniform(0.25), true);
  Parameter ones("ones", {5}, Init::ones(), false), zeros("zeros", {5}, Init::zeros(), false);
  const ParameterList all = {&gauss, &flat, &ones, &zeros};
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order(all), all);
  store.initialize(3);

  double mean = 0, square = 0, fourth = 0, neighbours = 0;
  const std::vector<float> g = values_of(gauss);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double x = g[i] / 0.5;
    mean += x, square += x * x, fourth += x * x * x * x;
    if (i > 0) neighbours += x * g[i - 1] / 0.5;
  }
  // Standard errors: 1/√n, √2/√n, √96/√n, 1/√n; five of them.
  const double error = 5 / std::sqrt(double(n));
  EXPECT_NEAR(mean / n, 0, error);
  EXPECT_NEAR(square / n, 1, error * std::sqrt(2.0));
  EXPECT_NEAR(fourth / n, 3, error * std::sqrt(96.0));
  EXPECT_NEAR(neighbours / n, 0, error);

  const std::vector<float> u = values_of(flat);
  const auto [least, most] = std::minmax_element(u.begin(), u.end());
  EXPECT_GE(*least, -0.25f);
  EXPECT_LE(*most, 0.25f);
  EXPECT_LT(*least, -0.2499f);
  EXPECT_GT(*most, 0.2499f);
  EXPECT_EQ(values_of(ones), std::vector<float>(5, 1.0f));
  EXPECT_EQ(values_of(zeros), std::vector<float>(5, 0.0f));
}

TEST(ParameterStore, AnOptimizerStepBeginsByAssigning) {
  const Context context = Context::cpu();
  Parameter a = normal("a", {1});
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&a}), {&a});
  EXPECT_EQ(a.next_grad_write(), Write::assign);
  EXPECT_EQ(a.next_grad_write(), Write::add);
  EXPECT_TRUE(a.grad_written());
  store.start_accumulation();
  EXPECT_FALSE(a.grad_written());
  EXPECT_EQ(a.next_grad_write(), Write::assign);
}

TEST(ParameterStore, RefusesALayoutThatDoesNotFit) {
  const Context context = Context::cpu();
  Parameter a = normal("a", {1}), b = normal("b", {1}), same_name = normal("a", {1});
  const auto allocate = [&](const ParameterList& placed, const ParameterList& all) {
    ParameterLayout layout;
    for (Parameter* p : placed) layout.append(*p);
    ParameterStore::allocate(context, std::move(layout), all);
  };
  EXPECT_THROW(allocate({&a}, {&a, &b}), ContractError);
  EXPECT_THROW(allocate({&a, &b}, {&a}), ContractError);
  EXPECT_THROW(allocate({&a, &a}, {&a}), ContractError);
  EXPECT_THROW(allocate({&a, &same_name}, {&a, &same_name}), ContractError);
  const ParameterLayout before_freezing = ParameterLayout::in_order({&a});
  a.frozen = true;
  EXPECT_THROW(ParameterStore::allocate(context, before_freezing, {&a}), ContractError);
}

}  // namespace
}  // namespace tandem

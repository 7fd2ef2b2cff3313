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
  Context context = Context::cpu();
  Parameter p = normal(name, shape);
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&p}), {&p});
  store.initialize(context, seed);
  return values_of(p);
}

TEST(ParameterStore, BindsViewsOfFlatMemory) {
  Context context = Context::cpu();
  Parameter a = normal("a", {3, 5}), b = normal("b", {7});
  const auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&a, &b}), {&a, &b});
  EXPECT_EQ(store.values().numel(), 39);
  EXPECT_EQ(a.value.data(), store.values().data());
  EXPECT_EQ(b.grad.as<float>(), store.grads().as<float>() + 32);
  EXPECT_EQ(a.grad.shape(), (Shape{3, 5}));
  EXPECT_TRUE(
      std::all_of(store.grads().as<float>(), store.grads().as<float>() + 39, [](float g) { return g == 0; }));
}

TEST(ParameterStore, GivesBackWhatItWasGiven) {
  Context context = Context::cpu();
  Parameter a = normal("a", {3, 5}), b = normal("b", {2});
  b.frozen = true;
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&a, &b}), {&a, &b});
  store.initialize(context, 7);
  for (Parameter* p : {&a, &b}) {
    std::vector<float> values(static_cast<std::size_t>(p->numel()));
    store.get(context, *p, Tensor::of(values.data(), p->shape));
    EXPECT_EQ(values, values_of(*p));
    for (float& v : values) v += 1;
    store.set(context, *p, Tensor::of(values.data(), p->shape));
    EXPECT_EQ(values, values_of(*p));
  }
}

TEST(ParameterStore, ViewsOutliveAMove) {
  Context context = Context::cpu();
  Parameter a = normal("a", {3});
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&a}), {&a});
  ParameterStore moved = std::move(store);
  moved.initialize(context, 1);
  EXPECT_EQ(a.value.data(), moved.values().data());
}

TEST(ParameterStore, FrozenParametersHaveValuesButNoGradient) {
  Context context = Context::cpu();
  Parameter a = normal("a", {4}), b = normal("b", {4});
  a.frozen = true;
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&a, &b}), {&a, &b});
  store.initialize(context, 1);
  EXPECT_FALSE(a.grad);
  EXPECT_NE(values_of(a)[0], 0.0f);
  EXPECT_EQ(store.values().numel(), 4);
}

TEST(ParameterStore, ValuesDependOnSeedAndNameAlone) {
  Context context = Context::cpu();
  Parameter a = normal("a", {6}), b = normal("b", {6});
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&b, &a}), {&a, &b});
  store.initialize(context, 7);
  EXPECT_EQ(values_of(a), alone("a", {6}, 7));
  EXPECT_NE(values_of(a), values_of(b));
  EXPECT_NE(values_of(a), alone("a", {6}, 8));
  const std::vector<float> longer = alone("a", {9}, 7);  // element i does not depend on the size
  EXPECT_TRUE(std::equal(longer.begin(), longer.begin() + 6, values_of(a).begin()));
}

TEST(ParameterStore, DrawsTheAskedForDistributions) {
  Context context = Context::cpu();
  constexpr std::int64_t n = 200001;
  Parameter gauss = normal("gauss", {n}, 0.5);
  Parameter flat("flat", {n}, Init::uniform(0.25), true);
  Parameter ones("ones", {5}, Init::ones(), false), zeros("zeros", {5}, Init::zeros(), false);
  const ParameterList all = {&gauss, &flat, &ones, &zeros};
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order(all), all);
  store.initialize(context, 3);

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

TEST(ParameterStore, DrawsTheSameInDouble) {
  Context context = Context::cpu();
  Parameter p("a", {9}, Init::normal(1), /*decay=*/true, DType::f64);
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&p}), {&p});
  store.initialize(context, 7);
  const std::vector<float> narrow = alone("a", {9}, 7);
  for (std::int64_t i = 0; i < 9; ++i)
    EXPECT_FLOAT_EQ(static_cast<float>(p.value.as<double>()[i]), narrow[static_cast<std::size_t>(i)]);
}

TEST(ParameterStore, IsItsOwnMasterInFullPrecision) {
  Context context = Context::cpu();
  for (const DType dtype : {DType::f32, DType::f64}) {
    Parameter p("a", {9}, Init::normal(1), /*decay=*/true, dtype);
    const auto store = ParameterStore::allocate(context, ParameterLayout::in_order({&p}), {&p});
    EXPECT_EQ(store.masters().data(), store.values().data());
    EXPECT_EQ(store.masters().dtype(), dtype);
  }
}

/// Sizes alone: the CPU computes in no short type.
TEST(ParameterStore, HasMastersAndFullGradientsBesideShortValues) {
  Context context = Context::cpu();
  Parameter a("a", {3, 5}, Init::normal(1), true, DType::bf16), b("b", {7}, Init::ones(), true, DType::bf16);
  const ParameterList all = {&a, &b};
  const auto store = ParameterStore::allocate(context, ParameterLayout::in_order(all), all, DType::f32);
  EXPECT_EQ(store.values().dtype(), DType::bf16);
  for (const Tensor& full : {store.masters(), store.grads()}) {
    EXPECT_EQ(full.dtype(), DType::f32);
    EXPECT_EQ(full.numel(), store.layout().numel());
    EXPECT_NE(full.data(), store.values().data());
  }
  EXPECT_EQ(b.value.dtype(), DType::bf16);
  EXPECT_EQ(b.grad.as<float>(), store.grads().as<float>() + 32);
  const auto short_gradients = ParameterStore::allocate(context, ParameterLayout::in_order(all), all);
  EXPECT_EQ(short_gradients.grads().dtype(), DType::bf16);
}

TEST(ParameterStore, TakesValuesFromTheHost) {
  Context context = Context::cpu();
  Parameter a = normal("a", {2, 2}), frozen = normal("frozen", {3}), b = normal("b", {1});
  frozen.frozen = true;
  const ParameterList all = {&a, &frozen, &b};
  auto store = ParameterStore::allocate(context, ParameterLayout::in_order(all), all);
  std::vector<float> given = {1, 2, 3, 4}, short_given = {5, 6, 7};
  store.set(context, a, Tensor::of(given.data(), {4}));
  store.set(context, frozen, Tensor::of(short_given.data(), {3}));
  EXPECT_EQ(values_of(a), given);
  EXPECT_EQ(values_of(frozen), short_given);
  EXPECT_EQ(values_of(b), std::vector<float>{0});
  std::vector<double> wide(4);
  EXPECT_THROW(store.set(context, a, Tensor::of(short_given.data(), {3})), ContractError);
  EXPECT_THROW(store.set(context, a, Tensor::of(wide.data(), {4})), ContractError);
}

TEST(ParameterStore, AnOptimizerStepBeginsByAssigning) {
  Context context = Context::cpu();
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
  Context context = Context::cpu();
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

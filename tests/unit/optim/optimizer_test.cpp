#include "optim/optimizer.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "optim/clip.h"
#include "tests/unit/optim/random_model.h"

namespace tandem {
namespace {

using testing::element;
using testing::RandomModel;

using Factory = std::function<std::unique_ptr<Optimizer>(Context&, ParameterStore&)>;

Factory sgd(SgdOptions options) {
  return [=](Context& context, ParameterStore& store) { return make_sgd(context, store, options); };
}
Factory adamw(AdamWOptions options) {
  return [=](Context& context, ParameterStore& store) { return make_adamw(context, store, options); };
}

/// The state of one element, in double.
struct Element {
  double value, m = 0, v = 0;
};

/// What the element should be after step t (from 1), with gradient g.
using Rule = std::function<void(Element&, const Parameter&, double g, int t, double lr)>;

Rule reference(SgdOptions options) {
  return [=](Element& e, const Parameter& p, double g, int t, double lr) {
    if (p.decay) g += static_cast<float>(options.weight_decay) * e.value;
    e.m = t == 1 ? g : options.momentum * e.m + g;
    const double direction = options.momentum == 0 ? g : options.nesterov ? g + options.momentum * e.m : e.m;
    e.value -= lr * p.lr_scale * direction;
  };
}

Rule reference(AdamWOptions options) {
  return [=](Element& e, const Parameter& p, double g, int t, double lr) {
    e.m = options.beta1 * e.m + (1 - options.beta1) * g;
    e.v = options.beta2 * e.v + (1 - options.beta2) * g * g;
    const double m = e.m / (1 - std::pow(options.beta1, t)), v = e.v / (1 - std::pow(options.beta2, t));
    const double decay = p.decay ? static_cast<float>(options.weight_decay) : 0.0;
    e.value -= lr * p.lr_scale * (decay * e.value + m / (std::sqrt(v) + options.epsilon));
  };
}

struct Case {
  std::string name;
  Factory make;
  Rule rule;
  int states;  // values of state per element
};

std::vector<Case> cases() {
  const SgdOptions plain{}, decay{.weight_decay = 0.1}, heavy{.momentum = 0.9, .weight_decay = 0.01},
      nesterov{.momentum = 0.8, .nesterov = true, .weight_decay = 0.01};
  const AdamWOptions adam{}, slow{.beta1 = 0.5, .beta2 = 0.999, .epsilon = 1e-3, .weight_decay = 0.3};
  return {{"sgd", sgd(plain), reference(plain), 0},      {"sgd_decay", sgd(decay), reference(decay), 0},
          {"momentum", sgd(heavy), reference(heavy), 1}, {"nesterov", sgd(nesterov), reference(nesterov), 1},
          {"adamw", adamw(adam), reference(adam), 2},    {"adamw_slow", adamw(slow), reference(slow), 2}};
}

class OptimizerTest : public ::testing::TestWithParam<Case> {};

/// Steps in turn have no clipping, have it and need it, have it and do not need it. Returns by how much the
/// gradients are scaled.
double clip(Optimizer& optimizer, GradientNorm& norm, int step) {
  if (step % 3 == 1) return 1;
  norm.compute();
  const double length = *norm.value().as<double>();
  optimizer.clip(norm, step % 3 == 2 ? 0.75 * length : 1.01 * length);
  return step % 3 == 2 ? 0.75 * length / (length + 1e-6) : 1;
}

void expect_follows_reference(const Case& c, DType dtype, double tolerance) {
  auto context = Context::cpu();
  RandomModel model(5, dtype);
  auto store = model.allocate(context);
  const auto optimizer = c.make(context, store);
  GradientNorm norm(context, store);
  EXPECT_EQ(optimizer->state_bytes(), c.states * store.values().bytes());

  std::vector<std::vector<Element>> expected;
  for (const Parameter& p : model.parameters) {
    auto& elements = expected.emplace_back();
    for (std::int64_t i = 0; i < p.numel(); ++i) elements.push_back({element(p.value, i)});
  }
  for (int t = 1; t <= 6; ++t) {
    const double lr = 0.05 / t;
    model.draw_grads(t);
    optimizer->start_step(lr);
    const double scale = clip(*optimizer, norm, t);
    optimizer->update_all();
    EXPECT_EQ(optimizer->steps(), t);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const Parameter& p = model.parameters[k];
      for (std::int64_t i = 0; i < p.numel(); ++i) {
        Element& e = expected[k][static_cast<std::size_t>(i)];
        if (!p.frozen) c.rule(e, p, scale * element(p.grad, i), t, lr);
        ASSERT_NEAR(element(p.value, i), e.value, tolerance * std::max(1.0, std::abs(e.value)))
            << c.name << ": " << p.name << "[" << i << "] after step " << t;
      }
    }
  }
}

TEST_P(OptimizerTest, FollowsTheReferenceInFloat) {
  expect_follows_reference(GetParam(), DType::f32, 2e-6);
}
TEST_P(OptimizerTest, FollowsTheReferenceInDouble) {
  expect_follows_reference(GetParam(), DType::f64, 1e-12);
}

TEST_P(OptimizerTest, SlicesInAnyOrderEqualTheWholeBitwise) {
  auto context = Context::cpu();
  RandomModel a(6), b(6);
  auto whole = a.allocate(context), sliced = b.allocate(context);
  const auto one = GetParam().make(context, whole), other = GetParam().make(context, sliced);
  const auto& entries = sliced.layout().entries();
  for (int step = 0; step < 4; ++step) {
    a.draw_grads(step);
    b.draw_grads(step);
    one->start_step(0.1);
    one->update_all();
    other->start_step(0.1);
    for (std::size_t i = entries.size(); i-- > 0;) {  // from each entry to the next, last first
      const auto end = i + 1 < entries.size() ? entries[i + 1].offset : sliced.layout().numel();
      other->update_slice(entries[i].offset, end - entries[i].offset);
    }
    ASSERT_EQ(std::memcmp(whole.values().data(), sliced.values().data(), whole.values().bytes()), 0);
  }
}

TEST_P(OptimizerTest, LeavesPaddingAlone) {
  auto context = Context::cpu();
  RandomModel model(7);
  auto store = model.allocate(context);
  RandomModel::fill(store.grads(), "padding too");
  const auto optimizer = GetParam().make(context, store);
  optimizer->start_step(1);
  optimizer->update_all();
  std::vector<bool> padding(static_cast<std::size_t>(store.layout().numel()), true);
  for (const auto& [parameter, offset] : store.layout().entries())
    std::fill_n(padding.begin() + offset, parameter->numel(), false);
  for (std::size_t i = 0; i < padding.size(); ++i)
    ASSERT_TRUE(!padding[i] || store.values().as<float>()[i] == 0.0f) << i;
}

INSTANTIATE_TEST_SUITE_P(Rules, OptimizerTest, ::testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.name; });

TEST(Optimizer, RefusesToUpdateOutOfTurnOrPartly) {
  auto context = Context::cpu();
  RandomModel model(8);
  auto store = model.allocate(context);
  const auto optimizer = make_sgd(context, store, {});
  EXPECT_THROW(optimizer->update_all(), ContractError);
  optimizer->start_step(0.1);
  EXPECT_THROW(optimizer->update_slice(0, model.parameters[0].numel() - 1), ContractError);
}

TEST(Optimizer, RefusesBadOptions) {
  auto context = Context::cpu();
  RandomModel model(9);
  auto store = model.allocate(context);
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (SgdOptions bad : {SgdOptions{.momentum = -0.1},
                         {.momentum = 1},
                         {.momentum = nan},
                         {.nesterov = true},
                         {.weight_decay = -1},
                         {.weight_decay = nan},
                         {.weight_decay = inf}})
    EXPECT_THROW(make_sgd(context, store, bad), UsageError);
  for (AdamWOptions bad : {AdamWOptions{.beta1 = 1},
                           {.beta1 = -0.1},
                           {.beta1 = nan},
                           {.beta2 = 1.5},
                           {.beta2 = nan},
                           {.epsilon = 0},
                           {.epsilon = nan},
                           {.weight_decay = -0.1},
                           {.weight_decay = inf}})
    EXPECT_THROW(make_adamw(context, store, bad), UsageError);
}

}  // namespace
}  // namespace tandem

#include "optim/loss_scale.h"

#include <cmath>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "optim/optimizer.h"
#include "tests/unit/optim/random_model.h"

namespace tandem {
namespace {

using testing::element;
using testing::RandomModel;

/// A model with AdamW, clipped to 3.
struct Trained {
  explicit Trained(RandomModel& of) : model(of) {}

  /// A step with gradients that are drawn for `number` and multiplied by `factor`.
  void step(int number, double factor, const LossScale* loss_scale) {
    model.draw_grads(number);
    for (Parameter& p : model.parameters)
      for (std::int64_t i = 0; i < p.grad.numel() && !p.frozen; ++i) p.grad.as<double>()[i] *= factor;
    optimizer->start_step(0.01);
    norm.compute();
    if (loss_scale) optimizer->unscale(norm, *loss_scale);
    optimizer->clip(norm, 3);
    optimizer->update_all();
  }

  Context context = Context::cpu();
  RandomModel& model;
  ParameterStore store = model.allocate(context);
  GradientNorm norm{context, store};
  std::unique_ptr<Optimizer> optimizer = make_adamw(context, store, AdamWOptions());
};

TEST(LossScale, StepsAreThoseWithoutItAndOverflowsAreLeftOut) {
  RandomModel plain_model(5, DType::f64), scaled_model(5, DType::f64);
  Trained plain(plain_model), scaled(scaled_model);
  LossScale loss_scale(scaled.context, 256, {.growth = 2, .backoff = 0.5, .interval = 2});
  const auto scale = [&] { return *loss_scale.scale().as<double>(); };
  const double expected[] = {256, 256, 512, 256, 256, 512};  // before each step
  for (int number = 0; number < 6; ++number) {
    EXPECT_EQ(scale(), expected[number]) << number;
    const bool overflows = number == 2;
    scaled.step(number, overflows ? std::numeric_limits<double>::infinity() : scale(), &loss_scale);
    EXPECT_EQ(std::isfinite(*scaled.norm.value().as<double>()), !overflows);
    if (overflows) continue;
    plain.step(number, 1, nullptr);
    EXPECT_DOUBLE_EQ(*scaled.norm.value().as<double>(), *plain.norm.value().as<double>());
  }
  for (std::size_t p = 0; p < plain_model.parameters.size(); ++p)
    for (std::int64_t i = 0; i < plain_model.parameters[p].value.numel(); ++i)
      ASSERT_NEAR(element(scaled_model.parameters[p].value, i), element(plain_model.parameters[p].value, i),
                  1e-12)
          << p << " " << i;
}

TEST(LossScale, RefusesABadBeginning) {
  auto context = Context::cpu();
  for (const double bad : {0.0, 0.5, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THROW(LossScale(context, bad), UsageError) << bad;
}

}  // namespace
}  // namespace tandem

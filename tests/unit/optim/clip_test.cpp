#include "optim/clip.h"

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

double computed(GradientNorm& norm) {
  norm.compute();
  return *norm.value().as<double>();
}

/// Of a model's trainable parameters, in long double.
double norm_of(const RandomModel& model) {
  long double sum = 0;
  for (const Parameter& p : model.parameters)
    for (std::int64_t i = 0; i < p.grad.numel() && !p.frozen; ++i)
      sum += static_cast<long double>(element(p.grad, i)) * element(p.grad, i);
  return static_cast<double>(std::sqrt(sum));
}

TEST(GradientNorm, IsTheNormOverAllTrainableParameters) {
  auto context = Context::cpu();
  RandomModel model(3);
  const auto store = model.allocate(context);
  GradientNorm norm(context, store);
  for (int step = 0; step < 3; ++step) {
    model.draw_grads(step);
    EXPECT_NEAR(computed(norm), norm_of(model), 1e-9);
  }
}

TEST(GradientNorm, DoesNotDependOnTheLayout) {
  auto context = Context::cpu();
  RandomModel a(4), b(4);
  const auto forward = a.allocate(context), backward = b.allocate(context, /*reversed=*/true);
  a.draw_grads(0);
  b.draw_grads(0);
  GradientNorm norm_a(context, forward), norm_b(context, backward);
  EXPECT_EQ(computed(norm_a), computed(norm_b));
}

/// A step of SGD at rate 1 is the gradient that was taken.
class Clip : public ::testing::Test {
 protected:
  /// The factor on the gradients of a step that clips to `max_norm`.
  double scale_of_step(double max_norm) {
    model_.draw_grads(optimizer_->steps());
    norm_.compute();
    optimizer_->start_step(1);
    optimizer_->clip(norm_, max_norm);
    const Parameter& p = model_.parameters[1];  // without decay
    const double before = element(p.value, 0);
    optimizer_->update_all();
    return (before - element(p.value, 0)) / element(p.grad, 0);
  }

  Context context_ = Context::cpu();
  RandomModel model_{10, DType::f64};
  ParameterStore store_ = model_.allocate(context_);
  GradientNorm norm_{context_, store_};
  std::unique_ptr<Optimizer> optimizer_ = make_sgd(context_, store_, {});
};

TEST_F(Clip, ScalesLargeGradientsOfItsStepAlone) {
  for (const double limit : {0.5, 1e6, 2.0}) {
    const double scale = scale_of_step(limit), norm = norm_of(model_);
    EXPECT_NEAR(scale, norm > limit ? limit / (norm + 1e-6) : 1, 1e-12) << limit;
  }
}

TEST_F(Clip, RefusesABadLimit) {
  norm_.compute();
  optimizer_->start_step(1);
  for (double limit : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(check_clip(limit), UsageError);
    EXPECT_THROW(optimizer_->clip(norm_, limit), UsageError);
  }
  EXPECT_NO_THROW(check_clip(1e-3));
}

}  // namespace
}  // namespace tandem

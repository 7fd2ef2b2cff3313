#include "optim/clip.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/unit/optim/random_model.h"

namespace tandem {
namespace {

using testing::element;
using testing::RandomModel;

TEST(GradientNorm, IsTheNormOverAllTrainableParameters) {
  auto context = Context::cpu();
  RandomModel model(3);
  const auto store = model.allocate(context);
  GradientNorm norm(context, store);
  for (int step = 0; step < 3; ++step) {
    model.draw_grads(step);
    long double sum = 0;
    for (const Parameter& p : model.parameters)
      for (std::int64_t i = 0; i < p.grad.numel() && !p.frozen; ++i)
        sum += static_cast<long double>(element(p.grad, i)) * element(p.grad, i);
    EXPECT_NEAR(norm.compute(), static_cast<double>(std::sqrt(sum)), 1e-9);
  }
}

TEST(GradientNorm, DoesNotDependOnTheLayout) {
  auto context = Context::cpu();
  RandomModel a(4), b(4);
  const auto forward = a.allocate(context), backward = b.allocate(context, /*reversed=*/true);
  a.draw_grads(0);
  b.draw_grads(0);
  EXPECT_EQ(GradientNorm(context, forward).compute(), GradientNorm(context, backward).compute());
}

TEST(ClipScale, LeavesSmallNormsAloneAndShrinksLargeOnes) {
  EXPECT_EQ(clip_scale(0, 1), 1);
  EXPECT_EQ(clip_scale(1, 1), 1);
  EXPECT_NEAR(clip_scale(4, 1) * 4, 1, 1e-6);
  EXPECT_DOUBLE_EQ(clip_scale(2, 0.5), 0.5 / (2 + 1e-6));
}

TEST(ClipScale, RefusesABadLimit) {
  for (double limit : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THROW(clip_scale(1, limit), UsageError);
}

}  // namespace
}  // namespace tandem

#include "core/ops/activation.h"

#include "tests/unit/ops/ops_test.h"

namespace tandem {
namespace {

using ops::Activation;

template <class T>
class ActivationTest : public testing::Test {
 protected:
  Random random_;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ActivationTest, Types);

/// (1 + tanh u) / 2 of the gelu's u, in the form that does not cancel for u near −∞.
double gate(double x) {
  return 1 / (1 + std::exp(-2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double f(Activation activation, double x) {
  return activation == Activation::relu ? std::max(x, 0.0) : x * gate(x);
}

double derivative(Activation activation, double x) {
  if (activation == Activation::relu) return x > 0 ? 1 : 0;
  const double slope = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
  return gate(x) + x * 2 * gate(x) * gate(-x) * slope;
}

TYPED_TEST(ActivationTest, MatchReference) {
  using T = TypeParam;
  for (const Activation activation : {Activation::relu, Activation::gelu})
    for (const std::int64_t n : {1, 3, 17, 127, 40000})
      for (const int threads : {1, 2}) {
        Context context = Context::cpu(threads);
        const auto x = this->random_.template normal<T>({n}, 3), dy = this->random_.template normal<T>({n});
        const auto y = poisoned<T>({n}), dx = poisoned<T>({n});
        Reference expected, expected_dx;
        for (std::int64_t i = 0; i < n; ++i) {
          expected.push_back(f(activation, x[i]));
          expected_dx.push_back(dy[i] * derivative(activation, x[i]));
        }
        ops::activation_forward(context, activation, x, y);
        ops::activation_backward(context, activation, x, dy, dx);
        expect_close(y, expected, this->random_);
        expect_close(dx, expected_dx, this->random_);
      }
}

TYPED_TEST(ActivationTest, GeluKeepsItsPrecisionFarOut) {
  using T = TypeParam;
  Context context = Context::cpu();
  Owned<T> x({200});
  for (std::int64_t i = 0; i < 200; ++i) x[i] = static_cast<T>(-5 + 0.05 * static_cast<double>(i));
  const auto y = poisoned<T>({200});
  ops::activation_forward(context, Activation::gelu, x, y);
  for (std::int64_t i = 0; i < 200; ++i) {
    const double expected = f(Activation::gelu, static_cast<double>(x[i]));
    EXPECT_NEAR(static_cast<double>(y.values[i]), expected,
                (sizeof(T) == 4 ? 5e-6 : 1e-13) * std::abs(expected));
  }
}

TYPED_TEST(ActivationTest, InPlace) {
  using T = TypeParam;
  constexpr std::int64_t n = 127;
  Context context = Context::cpu();
  const auto x = this->random_.template normal<T>({n}), dy = this->random_.template normal<T>({n});
  const auto y = poisoned<T>({n}), dx = poisoned<T>({n});
  Owned<T> both = x;
  ops::activation_forward(context, Activation::relu, x, y);
  ops::activation_forward(context, Activation::relu, both, both);
  EXPECT_EQ(both.values, y.values);
  for (const Activation activation : {Activation::relu, Activation::gelu}) {
    Owned<T> gradient = dy;
    ops::activation_backward(context, activation, x, dy, dx);
    ops::activation_backward(context, activation, x, gradient, gradient);
    EXPECT_EQ(gradient.values, dx.values);
  }
  ops::activation_backward(context, Activation::relu, x, dy, dx);
  Owned<T> from_output = dy;
  ops::activation_backward(context, Activation::relu, y, dy, from_output);
  EXPECT_EQ(from_output.values, dx.values);
}

TYPED_TEST(ActivationTest, NonFiniteValues) {
  using T = TypeParam;
  Context context = Context::cpu();
  const T infinity = std::numeric_limits<T>::infinity();
  for (const Activation activation : {Activation::relu, Activation::gelu}) {
    Owned<T> x({3});
    x[0] = std::numeric_limits<T>::quiet_NaN(), x[1] = infinity, x[2] = T(-30);
    ops::activation_forward(context, activation, x, x);
    EXPECT_TRUE(std::isnan(x[0])) << "a NaN must not be hidden";
    EXPECT_EQ(x[1], infinity);
    EXPECT_NEAR(static_cast<double>(x[2]), 0, 1e-30);
  }
}

TEST(ActivationErrors, SizesAndTypesMustFit) {
  Context context = Context::cpu();
  const Owned<float> a({4}), b({5});
  const Owned<double> c({4});
  EXPECT_THROW(ops::activation_forward(context, Activation::relu, a, b), ContractError);
  EXPECT_THROW(ops::activation_forward(context, Activation::gelu, a, c), ContractError);
  EXPECT_THROW(ops::activation_backward(context, Activation::gelu, a, b, a), ContractError);
  EXPECT_THROW(ops::activation_backward(context, Activation::gelu, a, a, c), ContractError);
}

TEST(ActivationNames, AreThoseOfTheLogs) {
  EXPECT_EQ(ops::name_of(Activation::relu), "relu");
  EXPECT_EQ(ops::name_of(Activation::gelu), "gelu");
}

}  // namespace
}  // namespace tandem

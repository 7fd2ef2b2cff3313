#include "core/ops/layer_norm.h"

#include "tests/unit/ops/ops_test.h"

namespace tandem {
namespace {

template <class T>
class LayerNormTest : public testing::Test {
 protected:
  Random random_;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(LayerNormTest, Types);

/// Everything about a layer norm, computed in double.
struct LayerNorm {
  template <class T>
  LayerNorm(const Owned<T>& x, const Owned<T>& weight, const Owned<T>& bias, const Owned<T>& dy)
      : dweight(weight.values.size()), dbias(weight.values.size()) {
    const std::int64_t columns = weight.numel(), rows = x.numel() / columns;
    for (std::int64_t r = 0; r < rows; ++r) {
      double m = 0, variance = 0, mean_g = 0, mean_gx = 0;
      for (std::int64_t j = 0; j < columns; ++j) m += x[r * columns + j] / columns;
      for (std::int64_t j = 0; j < columns; ++j) variance += std::pow(x[r * columns + j] - m, 2) / columns;
      const double s = 1 / std::sqrt(variance + 1e-5);
      mean.push_back(m);
      rstd.push_back(s);
      for (std::int64_t j = 0; j < columns; ++j) {
        const double normal = (x[r * columns + j] - m) * s, g = dy[r * columns + j];
        y.push_back(normal * weight[j] + bias[j]);
        dweight[j] += g * normal;
        dbias[j] += g;
        mean_g += g * weight[j] / columns;
        mean_gx += g * weight[j] * normal / columns;
      }
      for (std::int64_t j = 0; j < columns; ++j)
        dx.push_back(s * (dy[r * columns + j] * weight[j] - mean_g - (x[r * columns + j] - m) * s * mean_gx));
    }
  }
  Reference y, mean, rstd, dx, dweight, dbias;
};

Reference plus(Reference a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
Reference plus(Reference a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

TYPED_TEST(LayerNormTest, MatchesReference) {
  using T = TypeParam;
  Random& random = this->random_;
  for (const std::int64_t rows : kOddSizes)
    for (const std::int64_t columns : {3, 16, 17, 64, 127, 300})
      for (const int threads : {1, 2}) {
        Context context = Context::cpu(threads);
        auto x = random.normal<T>({rows, columns});
        const bool wide = columns >= 16;  // rows of three may be nearly constant, which magnifies rounding
        if (wide)
          for (T& v : x.values) v += T(10);  // a mean that a one-pass variance would suffer from
        const auto dy = random.normal<T>({rows, columns});
        const auto weight = random.normal<T>({columns}), bias = random.normal<T>({columns});
        const LayerNorm expected(x, weight, bias, dy);

        const auto y = poisoned<T>({rows, columns}), dx = poisoned<T>({rows, columns});
        const auto mean = poisoned<T>({rows}), rstd = poisoned<T>({rows});
        const auto dweight = poisoned<T>({columns}), dbias = poisoned<T>({columns});
        ops::layer_norm_forward(context, x, weight, bias, y, mean, rstd);
        const double tolerance = (sizeof(T) == 4 ? 2e-5 : 1e-12) * (wide ? 1 : 1000);
        expect_close(y, expected.y, random, tolerance);
        expect_close(mean, expected.mean, random);
        expect_close(rstd, expected.rstd, random, tolerance);

        ops::layer_norm_backward(context, dy, x, weight, mean, rstd, {dx}, {dweight}, {dbias});
        expect_close(dx, expected.dx, random, tolerance);
        expect_close(dweight, expected.dweight, random, tolerance);
        expect_close(dbias, expected.dbias, random, tolerance);
      }
}

TYPED_TEST(LayerNormTest, AddsAndLeavesOut) {
  using T = TypeParam;
  Random& random = this->random_;
  constexpr std::int64_t rows = 17, columns = 33;
  Context context = Context::cpu();
  const auto x = random.normal<T>({rows, columns}), dy = random.normal<T>({rows, columns});
  const auto weight = random.normal<T>({columns}), bias = random.normal<T>({columns});
  const LayerNorm expected(x, weight, bias, dy);
  const auto y = poisoned<T>({rows, columns});
  const auto mean = poisoned<T>({rows}), rstd = poisoned<T>({rows});
  ops::layer_norm_forward(context, x, weight, bias, y, mean, rstd);

  const auto dx = random.normal<T>({rows, columns}), dx_before = dx;
  const auto dweight = random.normal<T>({columns}), dweight_before = dweight, dbias = poisoned<T>({columns});
  ops::layer_norm_backward(context, dy, x, weight, mean, rstd, {dx, Write::add}, {}, {});
  expect_close(dx, plus(expected.dx, dx_before.values), random);
  ops::layer_norm_backward(context, dy, x, weight, mean, rstd, {}, {dweight, Write::add}, {});
  expect_close(dweight, plus(expected.dweight, dweight_before.values), random);
  ops::layer_norm_backward(context, dy, x, weight, mean, rstd, {}, {}, {dbias, Write::assign});
  expect_close(dbias, expected.dbias, random);

  // Each of them by its own Write, in one call.
  ops::layer_norm_backward(context, dy, x, weight, mean, rstd, {dx, Write::assign}, {dweight, Write::assign},
                           {dbias, Write::add});
  expect_close(dx, expected.dx, random);
  expect_close(dweight, expected.dweight, random);
  expect_close(dbias, plus(expected.dbias, expected.dbias), random);
}

/// The parameters' gradients need the dy that dx takes the place of.
TYPED_TEST(LayerNormTest, InputGradientMayTakeThePlaceOfTheOutputs) {
  using T = TypeParam;
  Random& random = this->random_;
  constexpr std::int64_t rows = 70, columns = 33;
  for (const int threads : {1, 2}) {
    Context context = Context::cpu(threads);
    const auto x = random.normal<T>({rows, columns}), dy = random.normal<T>({rows, columns});
    const auto weight = random.normal<T>({columns}), bias = random.normal<T>({columns});
    const LayerNorm expected(x, weight, bias, dy);
    const auto y = poisoned<T>({rows, columns}), mean = poisoned<T>({rows}), rstd = poisoned<T>({rows});
    ops::layer_norm_forward(context, x, weight, bias, y, mean, rstd);
    const Owned<T> in_place = dy;
    const auto dweight = poisoned<T>({columns}), dbias = poisoned<T>({columns});
    ops::layer_norm_backward(context, in_place, x, weight, mean, rstd, {in_place}, {dweight}, {dbias});
    expect_close(in_place, expected.dx, random);
    expect_close(dweight, expected.dweight, random);
    expect_close(dbias, expected.dbias, random);
  }
}

TEST(LayerNormErrors, ShapesMustFit) {
  Context context = Context::cpu();
  const Owned<float> x({4, 8}), p({8}), stat({4}), wrong({7});
  const Owned<double> stat64({4});
  EXPECT_THROW(ops::layer_norm_forward(context, x, wrong, p, x, stat, stat), ContractError);
  EXPECT_THROW(ops::layer_norm_forward(context, x, p, wrong, x, stat, stat), ContractError);
  EXPECT_THROW(ops::layer_norm_forward(context, x, p, p, Owned<float>({4, 7}), stat, stat), ContractError);
  EXPECT_THROW(ops::layer_norm_forward(context, x, p, p, x, wrong, stat), ContractError);
  EXPECT_THROW(ops::layer_norm_forward(context, x, p, p, x, stat, stat64), ContractError);
  const auto backward = [&](const Tensor& dy, const Tensor& weight, const Tensor& mean, const Tensor& dx,
                            const Tensor& dweight, const Tensor& dbias) {
    ops::layer_norm_backward(context, dy, x, weight, mean, stat, {dx}, {dweight}, {dbias});
  };
  EXPECT_NO_THROW(backward(x, p, stat, x, p, p));
  EXPECT_THROW(backward(Owned<float>({4, 7}), p, stat, x, p, p), ContractError);
  EXPECT_THROW(backward(x, wrong, stat, x, p, p), ContractError);
  EXPECT_THROW(backward(x, p, wrong, x, p, p), ContractError);
  EXPECT_THROW(backward(x, p, stat64, x, p, p), ContractError);
  EXPECT_THROW(backward(x, p, stat, Owned<float>({3, 8}), p, p), ContractError);
  EXPECT_THROW(backward(x, p, stat, x, wrong, p), ContractError);
  EXPECT_THROW(backward(x, p, stat, x, p, wrong), ContractError);
  EXPECT_THROW(backward(x, p, stat, x, Owned<double>({8}), p), ContractError);
}

}  // namespace
}  // namespace tandem

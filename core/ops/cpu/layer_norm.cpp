#include "core/ops/layer_norm.h"

#include <cmath>

#include "core/ops/cpu/column_sums.h"
#include "core/ops/cpu/parallel.h"
#include "core/ops/cpu/simd.h"

namespace tandem::ops {

namespace {

using cpu::Vec;

constexpr std::int64_t kLeast = 32;  // rows for which a second thread pays

struct Moments {
  double mean, rstd;
};

/// Two passes over a row, which lies in L1: the mean first, so that the variance does not cancel.
template <class T>
Moments moments(const T* x, std::int64_t columns) {
  Vec<T> sum{}, squares{};
  cpu::for_vectors<T>(0, columns, [&](auto at) { sum += at.load(x); });
  const T mean = cpu::sum<T>(sum) / static_cast<T>(columns);
  cpu::for_vectors<T>(0, columns, [&](auto at) {
    const Vec<T> centred = at.load(x, mean) - mean;
    squares += centred * centred;
  });
  const double variance = cpu::sum<T>(squares) / static_cast<double>(columns);
  return {mean, 1 / std::sqrt(variance + kLayerNormEpsilon)};
}

/// dx [columns] (+)= rstd · (g − mean(g) − x̂ · mean(g·x̂)) with g = dy · weight
template <class T>
void backward_row(std::int64_t columns, const T* dy, const T* x, const T* weight, T mean, T rstd, T* dx,
                  Write write) {
  Vec<T> sum{}, projection{};
  cpu::for_vectors<T>(0, columns, [&](auto at) {
    const Vec<T> g = at.load(dy) * at.load(weight);
    sum += g;
    projection += g * ((at.load(x) - mean) * rstd);
  });
  const T mean_g = cpu::sum<T>(sum) / static_cast<T>(columns);
  const T mean_gx = cpu::sum<T>(projection) / static_cast<T>(columns);
  cpu::for_vectors<T>(0, columns, [&](auto at) {
    const Vec<T> g = at.load(dy) * at.load(weight);
    const Vec<T> gradient = (g - mean_g - (at.load(x) - mean) * rstd * mean_gx) * rstd;
    at.store(dx, write == Write::add ? at.load(dx) + gradient : gradient);
  });
}

void check_rows(const Tensor& x, const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  require(
      x.rows() == y.rows() && x.last() == y.last() && mean.numel() == x.rows() && rstd.numel() == x.rows(),
      "layer norm: {} and {} with mean {} and rstd {} do not fit", x.shape().str(), y.shape().str(),
      mean.shape().str(), rstd.shape().str());
}

void check_columns(const Tensor& x, const Tensor& parameter) {
  require(!parameter || parameter.shape() == Shape{x.last()}, "layer norm: parameter {} for rows of {}",
          parameter.shape().str(), x.last());
}

}  // namespace

void layer_norm_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  check_rows(x, y, mean, rstd);
  check_columns(x, weight);
  check_columns(x, bias);
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t columns = x.last();
    const T *in = x.as<T>(), *w = weight.as<T>(), *b = bias.as<T>();
    T *out = y.as<T>(), *means = mean.as<T>(), *rstds = rstd.as<T>();
    cpu::parallel_for(context, x.rows(), 1, kLeast, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const auto [row_mean, row_rstd] = moments(in + row * columns, columns);
        const T m = means[row] = static_cast<T>(row_mean), r = rstds[row] = static_cast<T>(row_rstd);
        const T* from = in + row * columns;
        T* to = out + row * columns;
        cpu::for_vectors<T>(
            0, columns, [&](auto at) { at.store(to, (at.load(from) - m) * r * at.load(w) + at.load(b)); });
      }
    });
  });
}

void layer_norm_backward_input(Context& context, const Tensor& dy, const Tensor& x, const Tensor& weight,
                               const Tensor& mean, const Tensor& rstd, const Tensor& dx, Write write) {
  check_rows(x, dy, mean, rstd);
  check_rows(x, dx, mean, rstd);
  check_columns(x, weight);
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t columns = x.last();
    const T *in = x.as<T>(), *gradient = dy.as<T>(), *w = weight.as<T>(), *m = mean.as<T>(),
            *r = rstd.as<T>();
    T* out = dx.as<T>();
    cpu::parallel_for(context, x.rows(), 1, kLeast, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        backward_row(columns, gradient + row * columns, in + row * columns, w, m[row], r[row],
                     out + row * columns, write);
    });
  });
}

void layer_norm_backward_parameters(Context& context, const Tensor& dy, const Tensor& x, const Tensor& mean,
                                    const Tensor& rstd, const Tensor& dweight, Write weight_write,
                                    const Tensor& dbias, Write bias_write) {
  check_rows(x, dy, mean, rstd);
  check_columns(x, dweight);
  check_columns(x, dbias);
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t rows = x.rows(), columns = x.last();
    const T *in = x.as<T>(), *gradient = dy.as<T>(), *m = mean.as<T>(), *r = rstd.as<T>();
    if (dweight)
      cpu::column_sums(
          context, rows, columns,
          [=](std::int64_t row, std::int64_t j) {
            return gradient[row * columns + j] * ((in[row * columns + j] - m[row]) * r[row]);
          },
          dweight.as<T>(), weight_write);
    if (dbias)
      cpu::column_sums(
          context, rows, columns,
          [=](std::int64_t row, std::int64_t j) { return gradient[row * columns + j]; }, dbias.as<T>(),
          bias_write);
  });
}

}  // namespace tandem::ops

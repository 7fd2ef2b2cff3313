#include <cmath>

#include "core/ops/cpu/column_sums.h"
#include "core/ops/cpu/cpu_ops.h"
#include "core/ops/cpu/parallel.h"
#include "core/ops/cpu/simd.h"

namespace tandem::ops::cpu {

namespace {

constexpr std::int64_t kLeast = 32;  // rows for which a second thread pays

struct Moments {
  double mean, rstd;
};

/// Two passes over a row, which lies in L1: the mean first, so that the variance does not cancel.
template <class T>
Moments moments(const T* x, std::int64_t columns) {
  Vec<T> sum{}, squares{};
  for_vectors<T>(0, columns, [&](auto at) { sum += at.load(x); });
  const T mean = cpu::sum<T>(sum) / static_cast<T>(columns);
  for_vectors<T>(0, columns, [&](auto at) {
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
  for_vectors<T>(0, columns, [&](auto at) {
    const Vec<T> g = at.load(dy) * at.load(weight);
    sum += g;
    projection += g * ((at.load(x) - mean) * rstd);
  });
  const T mean_g = cpu::sum<T>(sum) / static_cast<T>(columns);
  const T mean_gx = cpu::sum<T>(projection) / static_cast<T>(columns);
  for_vectors<T>(0, columns, [&](auto at) {
    const Vec<T> g = at.load(dy) * at.load(weight);
    const Vec<T> gradient = (g - mean_g - (at.load(x) - mean) * rstd * mean_gx) * rstd;
    at.store(dx, write == Write::add ? at.load(dx) + gradient : gradient);
  });
}

}  // namespace

void layer_norm_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t columns = x.last();
    const T *in = x.as<T>(), *w = weight.as<T>(), *b = bias.as<T>();
    T *out = y.as<T>(), *means = mean.as<T>(), *rstds = rstd.as<T>();
    parallel_for(context, x.rows(), 1, kLeast, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const auto [row_mean, row_rstd] = moments(in + row * columns, columns);
        const T m = means[row] = static_cast<T>(row_mean), r = rstds[row] = static_cast<T>(row_rstd);
        const T* from = in + row * columns;
        T* to = out + row * columns;
        for_vectors<T>(0, columns,
                       [&](auto at) { at.store(to, (at.load(from) - m) * r * at.load(w) + at.load(b)); });
      }
    });
  });
}

namespace {

template <class T>
void backward_input(const Context& context, const Tensor& dy, const Tensor& x, const Tensor& weight,
                    const Tensor& mean, const Tensor& rstd, const GradientOut& dx) {
  const std::int64_t columns = x.last();
  const T *in = x.as<T>(), *gradient = dy.as<T>(), *w = weight.as<T>(), *m = mean.as<T>(), *r = rstd.as<T>();
  T* out = dx.grad.as<T>();
  parallel_for(context, x.rows(), 1, kLeast, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      backward_row(columns, gradient + row * columns, in + row * columns, w, m[row], r[row],
                   out + row * columns, dx.write);
  });
}

template <class T>
void backward_parameters(const Context& context, const Tensor& dy, const Tensor& x, const Tensor& mean,
                         const Tensor& rstd, const GradientOut& dweight, const GradientOut& dbias) {
  const std::int64_t rows = x.rows(), columns = x.last();
  const T *in = x.as<T>(), *gradient = dy.as<T>(), *m = mean.as<T>(), *r = rstd.as<T>();
  if (dweight.grad)
    column_sums(
        context, rows, columns,
        [=](std::int64_t row, std::int64_t j) {
          return gradient[row * columns + j] * ((in[row * columns + j] - m[row]) * r[row]);
        },
        dweight.grad.as<T>(), dweight.write);
  if (dbias.grad)
    column_sums(
        context, rows, columns, [=](std::int64_t row, std::int64_t j) { return gradient[row * columns + j]; },
        dbias.grad.as<T>(), dbias.write);
}

}  // namespace

void layer_norm_backward(Context& context, const Tensor& dy, const Tensor& x, const Tensor& weight,
                         const Tensor& mean, const Tensor& rstd, const GradientOut& dx,
                         const GradientOut& dweight, const GradientOut& dbias) {
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    backward_parameters<T>(context, dy, x, mean, rstd, dweight, dbias);  // first: dx may be dy
    if (dx.grad) backward_input<T>(context, dy, x, weight, mean, rstd, dx);
  });
}

}  // namespace tandem::ops::cpu

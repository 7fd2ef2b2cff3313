#include <cmath>

#include "core/ops/cpu/cpu_ops.h"

namespace tandem::ops::cpu {

namespace {

/// Column j of a row-major matrix.
template <class T>
struct Column {
  T* first;
  std::int64_t rows, stride;

  T& operator[](std::int64_t i) const { return first[i * stride]; }
};

template <class T>
double dot(const Column<T>& a, const Column<T>& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

}  // namespace

void orthonormalize(Context&, const Tensor& matrix) {
  const std::int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  visit_floating(matrix.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto column = [&](std::int64_t j) { return Column<T>{matrix.as<T>() + j, rows, columns}; };
    for (std::int64_t j = 0; j < columns; ++j) {
      const Column<T> v = column(j);
      if (dot(v, v) == 0) v[j] = 1;
      for (int pass = 0; pass < 2; ++pass)
        for (std::int64_t k = 0; k < j; ++k) {
          const Column<T> u = column(k);
          const T along = static_cast<T>(dot(u, v));
          for (std::int64_t i = 0; i < rows; ++i) v[i] -= along * u[i];
        }
      const double length = std::sqrt(dot(v, v));
      for (std::int64_t i = 0; length > 0 && i < rows; ++i) v[i] = static_cast<T>(v[i] / length);
    }
  });
}

}  // namespace tandem::ops::cpu

#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/ops/write.h"

namespace tandem::ops::cpu {

/// A matrix in memory: element (i, j) is data[i·row_stride + j·column_stride]; one of the two strides is 1.
template <class T>
struct MatrixView {
  const T* data;
  std::int64_t row_stride, column_stride;

  MatrixView transposed() const { return {data, column_stride, row_stride}; }
  const T* at(std::int64_t i, std::int64_t j) const { return data + i * row_stride + j * column_stride; }
  /// The rest of the matrix that begins at (i, j).
  MatrixView from(std::int64_t i, std::int64_t j) const { return {at(i, j), row_stride, column_stride}; }
};

/// A row-major matrix: rows follow one another at `stride` elements.
template <class T>
MatrixView<T> row_major(const T* data, std::int64_t stride) {
  return {data, stride, 1};
}

/// C [m, n] (+)= A [m, k] · B [k, n] + bias [n] in each row (none if null). C is row-major with
/// `c_stride` elements from row to row. Each element is summed in the same order whatever m, n, its place and
/// the number of threads. f32 and f64.
template <class T>
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b, T* c,
          std::int64_t c_stride, Write write, const T* bias = nullptr);

/// The same, split among the context's compute threads.
template <class T>
void gemm(const Context& context, std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a,
          MatrixView<T> b, T* c, std::int64_t c_stride, Write write, const T* bias = nullptr);

}  // namespace tandem::ops::cpu

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/vectors.cuh"
#include "core/ops/layer_norm.h"

namespace tandem::ops::cuda {

namespace {

constexpr int kN = 8;              // columns that a lane takes at a time
constexpr int kThreads = 128;      // a warp for each of four rows
constexpr int kMostVectors = 8;    // of a lane: rows of at most 2048 columns are kept in registers
constexpr int kLongThreads = 256;  // a block for each longer row

template <class T>
struct Forward {
  const T *x, *weight, *bias;  // [rows, columns], [columns], [columns]
  T* y;
  float *mean, *rstd;  // [rows]
  std::int64_t rows;
  int columns;
};

/// A warp for each row, which it reads once; the mean first, so that the variance does not cancel.
template <int kVectors, class T>
__global__ void __launch_bounds__(kThreads) forward_kernel(const Forward<T> at) {
  using Columns = Elements<T, kN>;
  const int lane = threadIdx.x % kWarp;
  const std::int64_t row = std::int64_t{blockIdx.x} * (kThreads / kWarp) + threadIdx.x / kWarp;
  if (row >= at.rows) return;
  const auto column = [=](int v) { return (v * kWarp + lane) * kN; };
  const T* from = at.x + row * at.columns;
  Columns x[kVectors];
#pragma unroll
  for (int v = 0; v < kVectors; ++v)
    x[v] = column(v) < at.columns ? Columns::load(from + column(v)) : Columns::zero();
  float sum = 0, squares = 0;
#pragma unroll
  for (int v = 0; v < kVectors; ++v)
#pragma unroll
    for (int i = 0; i < kN; ++i) sum += x[v][i];
  const float mean = warp_sum(sum) / at.columns;
#pragma unroll
  for (int v = 0; v < kVectors; ++v)
    if (column(v) < at.columns)
#pragma unroll
      for (int i = 0; i < kN; ++i) squares += (x[v][i] - mean) * (x[v][i] - mean);
  const float rstd = rsqrtf(warp_sum(squares) / at.columns + static_cast<float>(kLayerNormEpsilon));
  if (lane == 0) {
    at.mean[row] = mean;
    at.rstd[row] = rstd;
  }
  T* to = at.y + row * at.columns;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    if (column(v) >= at.columns) continue;
    const Columns weight = Columns::load(at.weight + column(v)), bias = Columns::load(at.bias + column(v));
    Columns y;
#pragma unroll
    for (int i = 0; i < kN; ++i) y.set(i, (x[v][i] - mean) * rstd * weight[i] + bias[i]);
    y.store(to + column(v));
  }
}

/// A block for each row, of any length: reads it three times, mostly from the caches.
template <int N, class T>
__global__ void __launch_bounds__(kLongThreads) long_forward_kernel(const Forward<T> at) {
  using Columns = Elements<T, N>;
  __shared__ float scratch[kMostWarps];
  const std::int64_t row = blockIdx.x;
  const int first = threadIdx.x * N, step = blockDim.x * N;
  const T* from = at.x + row * at.columns;
  T* to = at.y + row * at.columns;
  float sum = 0, squares = 0;
  for (int column = first; column < at.columns; column += step) {
    const Columns x = Columns::load(from + column);
    for (int i = 0; i < N; ++i) sum += x[i];
  }
  const float mean = block_sum(sum, scratch) / at.columns;
  for (int column = first; column < at.columns; column += step) {
    const Columns x = Columns::load(from + column);
    for (int i = 0; i < N; ++i) squares += (x[i] - mean) * (x[i] - mean);
  }
  const float rstd = rsqrtf(block_sum(squares, scratch) / at.columns + static_cast<float>(kLayerNormEpsilon));
  if (threadIdx.x == 0) {
    at.mean[row] = mean;
    at.rstd[row] = rstd;
  }
  for (int column = first; column < at.columns; column += step) {
    const Columns x = Columns::load(from + column), weight = Columns::load(at.weight + column),
                  bias = Columns::load(at.bias + column);
    Columns y;
    for (int i = 0; i < N; ++i) y.set(i, (x[i] - mean) * rstd * weight[i] + bias[i]);
    y.store(to + column);
  }
}

/// Calls `f` with the vectors of a lane, as a constant.
template <class F>
void visit_length(int columns, F&& f) {
  const int vectors = (columns + kWarp * kN - 1) / (kWarp * kN);
  if (vectors <= 1) return f(std::integral_constant<int, 1>{});
  if (vectors <= 3) return f(std::integral_constant<int, 3>{});
  if (vectors <= 4) return f(std::integral_constant<int, 4>{});
  f(std::integral_constant<int, kMostVectors>{});
}

template <class T>
void forward(const Forward<T>& at, cudaStream_t stream) {
  const bool vectors = at.columns % kN == 0 && aligned(at.x, at.weight, at.bias, at.y);
  if (vectors && at.columns <= kMostVectors * kWarp * kN) {
    const auto blocks = static_cast<unsigned>(ceil_div(at.rows, kThreads / kWarp));
    visit_length(at.columns,
                 [&](auto v) { forward_kernel<decltype(v)::value, T><<<blocks, kThreads, 0, stream>>>(at); });
  } else {
    visit_vectors<kN>(vectors, [&](auto n) {
      constexpr int N = decltype(n)::value;
      const unsigned threads = threads_for(ceil_div(at.columns, N), kLongThreads);
      long_forward_kernel<N, T><<<static_cast<unsigned>(at.rows), threads, 0, stream>>>(at);
    });
  }
  TANDEM_CUDA(cudaGetLastError());
}

}  // namespace

void layer_norm_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  if (x.numel() == 0) return;
  visit_device(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    forward<T>({.x = static_cast<const T*>(x.data()),
                .weight = static_cast<const T*>(weight.data()),
                .bias = static_cast<const T*>(bias.data()),
                .y = static_cast<T*>(y.data()),
                .mean = mean.as<float>(),
                .rstd = rstd.as<float>(),
                .rows = x.rows(),
                .columns = static_cast<int>(x.last())},
               tandem::cuda::stream_of(context.compute()));
  });
}

}  // namespace tandem::ops::cuda

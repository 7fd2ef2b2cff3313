#include <algorithm>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/vectors.cuh"
#include "core/ops/embedding.h"

namespace tandem::ops::cuda {

namespace {

constexpr int kN = 8;  // columns that a thread takes at a time
constexpr int kThreads = 256;
constexpr int kRows = kThreads / kWarp;  // a warp for each row
constexpr int kBatch = 8;                // rows that a thread has under way

/// y [tokens, columns] = table[ids] + positions[token % sequence]
template <int N, class T>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(const std::int32_t* __restrict__ ids, const T* __restrict__ table,
                   const T* __restrict__ positions, T* __restrict__ y, std::int64_t tokens,
                   std::int64_t sequence, std::int64_t columns) {
  using Columns = Elements<T, N>;
  const std::int64_t token = std::int64_t{blockIdx.x} * kRows + threadIdx.x / kWarp;
  if (token >= tokens) return;
  const T* word = table + ids[token] * columns;
  const T* place = positions + token % sequence * columns;
#pragma unroll 4
  for (std::int64_t j = threadIdx.x % kWarp * N; j < columns; j += kWarp * N) {
    const Columns a = Columns::load(word + j), b = Columns::load(place + j);
    Columns sum;
#pragma unroll
    for (int i = 0; i < N; ++i) sum.set(i, a[i] + b[i]);
    sum.store(y + token * columns + j);
  }
}

/// dpositions [places] (+)= Σ over the batch of dy [batch, seen], all in elements; those of positions that no
/// sequence reaches (≥ seen) are 0 when assigning.
template <int N, class T, class G>
__global__ void __launch_bounds__(kThreads)
    positions_kernel(const T* dy, G* dpositions, std::int64_t batch, std::int64_t seen, std::int64_t places,
                     Write write) {
  const std::int64_t i = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * N;
  if (i >= places) return;
  const bool add = write == Write::add;
  if (i >= seen && add) return;
  float sum[N] = {};
  for (std::int64_t b = 0; i < seen && b < batch; b += kBatch) {
    Elements<T, N> x[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k)
      x[k] = b + k < batch ? Elements<T, N>::load(dy + (b + k) * seen + i) : Elements<T, N>::zero();
#pragma unroll
    for (int k = 0; k < kBatch; ++k)
#pragma unroll
      for (int n = 0; n < N; ++n) sum[n] += x[k][n];
  }
  Elements<G, N> result = add ? Elements<G, N>::load(dpositions + i) : Elements<G, N>::zero();
#pragma unroll
  for (int n = 0; n < N; ++n) result.set(n, result[n] + sum[n]);
  result.store(dpositions + i);
}

}  // namespace

void embedding_forward(Context& context, const Tensor& ids, const Tensor& table, const Tensor& positions,
                       const Tensor& y) {
  if (y.numel() == 0) return;
  const std::int64_t columns = y.last();
  const auto blocks = static_cast<unsigned>(ceil_div(ids.numel(), kRows));
  visit_device(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    visit_vectors<kN>(columns % kN == 0 && aligned(table.data(), positions.data(), y.data()), [&](auto n) {
      forward_kernel<decltype(n)::value, T>
          <<<blocks, kThreads, 0, tandem::cuda::stream_of(context.compute())>>>(
              ids.as<std::int32_t>(), static_cast<const T*>(table.data()),
              static_cast<const T*>(positions.data()), static_cast<T*>(y.data()), ids.numel(), ids.last(),
              columns);
    });
  });
  TANDEM_CUDA(cudaGetLastError());
}

void embedding_backward_positions(Context& context, const Tensor& dy, const Tensor& dpositions, Write write) {
  const std::int64_t places = dpositions.numel();
  if (places == 0) return;
  const std::int64_t seen = dy.shape()[1] * dy.last();
  const bool vectors = dy.last() % kN == 0 && aligned(dy.data(), dpositions.data());
  visit_gradient(dy.dtype(), dpositions.dtype(), [&](auto value, auto gradient) {
    using T = decltype(value);
    using G = decltype(gradient);
    visit_vectors<kN>(vectors, [&](auto n) {
      constexpr int N = decltype(n)::value;
      const auto blocks = static_cast<unsigned>(ceil_div(places, std::int64_t{kThreads} * N));
      positions_kernel<N, T, G><<<blocks, kThreads, 0, tandem::cuda::stream_of(context.compute())>>>(
          static_cast<const T*>(dy.data()), static_cast<G*>(dpositions.data()), dy.shape()[0], seen, places,
          write);
    });
  });
  TANDEM_CUDA(cudaGetLastError());
}

}  // namespace tandem::ops::cuda

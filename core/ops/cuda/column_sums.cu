#include "core/ops/cuda/column_sums.cuh"
#include "core/ops/cuda/cuda_ops.h"

namespace tandem::ops::cuda {

namespace {

constexpr int kSlicesAtOnce = 32;

template <class T>
__device__ void write(const ColumnTarget& target, std::int64_t column, float sum) {
  T& element = static_cast<T*>(target.data)[column];
  element = from_float<T>(target.write == Write::add ? to_float(element) + sum : sum);
}

/// Block: 32 columns, a warp for each of 32 interleaved shares of the slices. Grid: (columns / 32, targets).
__global__ void __launch_bounds__(kWarp* kSlicesAtOnce)
    sum_slices_kernel(const float* partial, std::int64_t slices, std::int64_t columns,
                      const ColumnTargets targets) {
  __shared__ float shared[kSlicesAtOnce][kWarp];
  const ColumnTarget target = targets.at[blockIdx.y];
  if (!target.data) return;
  const std::int64_t column = std::int64_t{blockIdx.x} * kWarp + threadIdx.x;
  float sum = 0;
  if (column < columns) {
#pragma unroll 8
    for (std::int64_t slice = threadIdx.y; slice < slices; slice += kSlicesAtOnce)
      sum += partial[(slice * targets.count + blockIdx.y) * columns + column];
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || column >= columns) return;
  float total = 0;
#pragma unroll
  for (int share = 0; share < kSlicesAtOnce; ++share) total += shared[share][threadIdx.x];
  if (target.dtype == DType::f32) return write<float>(target, column, total);
  if (target.dtype == DType::bf16) return write<__nv_bfloat16>(target, column, total);
  write<__half>(target, column, total);
}

/// The matrix itself.
template <class T, int N>
struct Rows {
  using Loaded = Elements<T, N>;
  const T* data;
  std::int64_t columns;

  __device__ Loaded load(std::int64_t row, std::int64_t column) const {
    return Loaded::load(data + row * columns + column);
  }
  __device__ void add(const Loaded& loaded, float (&sums)[1][N]) const {
#pragma unroll
    for (int i = 0; i < N; ++i) sums[0][i] += loaded[i];
  }
};

}  // namespace

void sum_slices(Context& context, const float* partial, std::int64_t slices, std::int64_t columns,
                const ColumnTargets& targets) {
  const dim3 grid(static_cast<unsigned>(ceil_div(columns, kWarp)), static_cast<unsigned>(targets.count));
  sum_slices_kernel<<<grid, dim3(kWarp, kSlicesAtOnce), 0, tandem::cuda::stream_of(context.compute())>>>(
      partial, slices, columns, targets);
  TANDEM_CUDA(cudaGetLastError());
}

void linear_backward_bias(Context& context, const Tensor& dy, const Tensor& dbias, Write write) {
  const std::int64_t columns = dbias.numel();
  visit_device(dy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    visit_vectors<kPerVector<T>>(columns % kPerVector<T> == 0 && aligned(dy.data()), [&](auto n) {
      constexpr int N = decltype(n)::value;
      column_sums<N, 1>(context, Rows<T, N>{static_cast<const T*>(dy.data()), columns}, dy.rows(), columns,
                        {{target_of(dbias, write)}, 1});
    });
  });
}

}  // namespace tandem::ops::cuda

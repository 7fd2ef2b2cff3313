#pragma once

#include <algorithm>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_device.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/vectors.cuh"
#include "core/ops/cuda/workspace.h"
#include "core/ops/write.h"
#include "core/tensor/tensor.h"

namespace tandem::ops::cuda {

// Sums over the rows of a matrix, in two stages: blocks add up slices of the rows and leave partial sums in
// the workspace, as f32 [slices, outputs, columns]; then these are summed in order. So the result is the same
// in every run.

/// Where the sums of all columns go: f32, bf16 or f16, or nowhere.
struct ColumnTarget {
  void* data = nullptr;
  DType dtype = DType::f32;
  Write write = Write::assign;
};
inline ColumnTarget target_of(const Tensor& tensor, Write write) {
  return {tensor.data(), tensor.dtype(), write};
}

struct ColumnTargets {
  static constexpr int kMost = 2;
  ColumnTarget at[kMost];
  int count;
};

/// The second stage. Without slices the sums are 0.
void sum_slices(Context& context, const float* partial, std::int64_t slices, std::int64_t columns,
                const ColumnTargets& targets);

inline constexpr int kSumWarps = 8;   // of a block, each with rows of its own
inline constexpr int kSumUnroll = 8;  // rows that a thread has under way
inline constexpr int kSumBlocks = 6;  // on a multiprocessor

/// The first stage. `Terms` says what is summed: `load(row, column)` fetches what `add(loaded, sums)` then
/// adds to sums [outputs][N], those of columns [column, column + N). Grid: (columns / (32·N), slices).
template <int N, int kOutputs, class Terms>
__global__ void __launch_bounds__(kSumWarps* kWarp, kSumBlocks)
    sum_rows_kernel(const Terms terms, std::int64_t rows, std::int64_t columns, float* partial) {
  constexpr int kTile = kWarp * N;
  __shared__ float shared[kOutputs][kSumWarps][kTile];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const std::int64_t tile = std::int64_t{blockIdx.x} * kTile, column = tile + lane * N;
  const std::int64_t slice = (rows + gridDim.y - 1) / gridDim.y, begin = blockIdx.y * slice;
  const std::int64_t end = begin + slice < rows ? begin + slice : rows;
  float sums[kOutputs][N] = {};
  if (column < columns) {
    std::int64_t row = begin + warp;
    for (; row + (kSumUnroll - 1) * kSumWarps < end; row += kSumUnroll * kSumWarps) {
      typename Terms::Loaded loaded[kSumUnroll];
#pragma unroll
      for (int u = 0; u < kSumUnroll; ++u) loaded[u] = terms.load(row + u * kSumWarps, column);
#pragma unroll
      for (int u = 0; u < kSumUnroll; ++u) terms.add(loaded[u], sums);
    }
    for (; row < end; row += kSumWarps) terms.add(terms.load(row, column), sums);
  }
#pragma unroll
  for (int output = 0; output < kOutputs; ++output)
#pragma unroll
    for (int i = 0; i < N; ++i) shared[output][warp][lane * N + i] = sums[output][i];
  __syncthreads();
  for (int i = threadIdx.x; i < kOutputs * kTile; i += blockDim.x) {
    const int output = i / kTile, j = i % kTile;
    if (tile + j >= columns) continue;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kSumWarps; ++w) sum += shared[output][w][j];
    partial[(std::int64_t{blockIdx.y} * kOutputs + output) * columns + tile + j] = sum;
  }
}

/// Both stages. `targets` (kOutputs of them) (+)= the sums of all columns over all rows.
template <int N, int kOutputs, class Terms>
void column_sums(Context& context, const Terms& terms, std::int64_t rows, std::int64_t columns,
                 const ColumnTargets& targets) {
  if (columns == 0) return;
  auto& device = tandem::cuda::device_of(context);
  auto* partial = static_cast<float*>(device.template part<Workspace>().data());
  std::int64_t slices = 0;
  if (rows > 0) {
    constexpr std::int64_t kLeastRows = 4 * kSumWarps;
    const std::int64_t tiles = ceil_div(columns, kWarp * N);
    const std::int64_t blocks = device.properties().multiProcessorCount * kSumBlocks;
    slices = std::clamp<std::int64_t>(blocks / tiles, 1, ceil_div(rows, kLeastRows));
    const std::int64_t needed = slices * kOutputs * columns * static_cast<std::int64_t>(sizeof(float));
    require(needed <= static_cast<std::int64_t>(Workspace::kBytes),
            "sums of {} columns need {} bytes of workspace, of {}: make the layer narrower", columns, needed,
            Workspace::kBytes);
    const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(slices));
    sum_rows_kernel<N, kOutputs><<<grid, kSumWarps * kWarp, 0, tandem::cuda::stream_of(context.compute())>>>(
        terms, rows, columns, partial);
    TANDEM_CUDA(cudaGetLastError());
  }
  sum_slices(context, partial, slices, columns, targets);
}

}  // namespace tandem::ops::cuda

#include <algorithm>

#include "core/ops/cuda/column_sums.cuh"
#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/layer_norm.h"

namespace tandem::ops::cuda {

namespace {

constexpr int kN = 8;  // columns of a thread
constexpr int kThreads = 256;
constexpr int kMostColumns = kThreads * kN;  // of a row whose gradient is made in one pass
constexpr int kRows = 3;                     // that a block has under way
constexpr int kWarpsPerProcessor = 16;       // a thread then has 128 registers, which hold three rows

template <class T>
struct Backward {
  const T *dy, *x, *weight;  // [rows, columns], [rows, columns], [columns]
  const float *mean, *rstd;  // [rows]
  T* dx;                     // [rows, columns]; it may be dy. Null: not wanted
  bool add;                  // dx += …
  std::int64_t rows;
  int columns;

  /// An element of dx, given the means over the row of g = dy · weight and of g · x̂.
  static __device__ float input_gradient(float g, float normal, float mean_g, float mean_gx, float rstd) {
    return (g - mean_g - normal * mean_gx) * rstd;
  }
};

/// dx, and of the rows that a block sees Σ dy · x̂ and Σ dy in `partial` [blocks, 2, columns] (null: not
/// wanted). A thread keeps its eight columns, whose sums stay in registers; the block takes kRows rows at a
/// time, so that more loads are under way and one barrier serves them all.
template <class T>
__global__ void __launch_bounds__(kThreads, kWarpsPerProcessor* kWarp / kThreads)
    backward_kernel(const Backward<T> at, float* partial) {
  using Columns = Elements<T, kN>;
  // Written in turns: who is a round ahead does not overwrite what others still read.
  __shared__ float shared[2][kThreads / kWarp][2 * kRows];
  const int column = threadIdx.x * kN, lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int warps = blockDim.x / kWarp;
  const bool inside = column < at.columns;
  const Columns weight = inside ? Columns::load(at.weight + column) : Columns::zero();
  float dweight[kN] = {}, dbias[kN] = {};
  int turn = 0;
  for (std::int64_t first = std::int64_t{blockIdx.x} * kRows; first < at.rows;
       first += std::int64_t{gridDim.x} * kRows, turn ^= 1) {
    Columns dy[kRows], x[kRows], old[kRows];
    float mean[kRows], rstd[kRows], sums[2 * kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const bool here = inside && first + r < at.rows;  // others count as 0
      const std::int64_t i = (first + r) * at.columns + column;
      dy[r] = here ? Columns::load(at.dy + i) : Columns::zero();
      x[r] = here ? Columns::load(at.x + i) : Columns::zero();
      old[r] = here && at.add ? Columns::load(at.dx + i) : Columns::zero();
      mean[r] = here ? at.mean[first + r] : 0;
      rstd[r] = here ? at.rstd[first + r] : 0;
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float sum_g = 0, sum_gx = 0;
#pragma unroll
      for (int i = 0; i < kN; ++i) {
        const float normal = (x[r][i] - mean[r]) * rstd[r], g = dy[r][i] * weight[i];
        dweight[i] += dy[r][i] * normal;
        dbias[i] += dy[r][i];
        sum_g += g;
        sum_gx += g * normal;
      }
      sums[2 * r] = warp_sum(sum_g);
      sums[2 * r + 1] = warp_sum(sum_gx);
    }
    if (!at.dx) continue;
    if (lane == 0)
#pragma unroll
      for (int s = 0; s < 2 * kRows; ++s) shared[turn][warp][s] = sums[s];
    __syncthreads();
#pragma unroll
    for (int s = 0; s < 2 * kRows; ++s) sums[s] = 0;
    for (int w = 0; w < warps; ++w)
#pragma unroll
      for (int s = 0; s < 2 * kRows; ++s) sums[s] += shared[turn][w][s];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      if (!inside || first + r >= at.rows) continue;
      const float mean_g = sums[2 * r] / at.columns, mean_gx = sums[2 * r + 1] / at.columns;
      Columns dx;
#pragma unroll
      for (int i = 0; i < kN; ++i)
        dx.set(i, old[r][i] + at.input_gradient(dy[r][i] * weight[i], (x[r][i] - mean[r]) * rstd[r], mean_g,
                                                mean_gx, rstd[r]));
      dx.store(at.dx + (first + r) * at.columns + column);
    }
  }
  if (!partial || !inside) return;
  float* to = partial + std::int64_t{blockIdx.x} * 2 * at.columns + column;
  Elements<float, kN> sums;
#pragma unroll
  for (int i = 0; i < kN; ++i) sums.at[i] = dweight[i];
  sums.store(to);
#pragma unroll
  for (int i = 0; i < kN; ++i) sums.at[i] = dbias[i];
  sums.store(to + at.columns);
}

template <class T>
void backward(Context& context, const Backward<T>& at, const ColumnTargets& targets) {
  auto& device = tandem::cuda::device_of(context);
  const bool wanted = targets.at[0].data || targets.at[1].data;
  auto* partial = wanted ? static_cast<float*>(device.part<Workspace>().data()) : nullptr;
  const unsigned threads = threads_for(at.columns / kN, kThreads);
  const std::int64_t most = device.properties().multiProcessorCount * (kWarpsPerProcessor * kWarp / threads);
  const std::int64_t blocks = std::min<std::int64_t>(most, ceil_div(at.rows, kRows));
  backward_kernel<T>
      <<<static_cast<unsigned>(blocks), threads, 0, tandem::cuda::stream_of(context.compute())>>>(at,
                                                                                                  partial);
  TANDEM_CUDA(cudaGetLastError());
  if (wanted) sum_slices(context, partial, blocks, at.columns, targets);
}

// Rows of other lengths, or at other addresses: the parameters' gradients first, as dx may be dy.

/// dy · x̂ and dy.
template <class T>
struct ParameterTerms {
  struct Loaded {
    float dy, normal;
  };
  Backward<T> at;

  __device__ Loaded load(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = row * at.columns + column;
    return {to_float(at.dy[i]), (to_float(at.x[i]) - at.mean[row]) * at.rstd[row]};
  }
  __device__ void add(const Loaded& loaded, float (&sums)[2][1]) const {
    sums[0][0] += loaded.dy * loaded.normal;
    sums[1][0] += loaded.dy;
  }
};

/// dx; a block for each row.
template <class T>
__global__ void __launch_bounds__(kThreads) any_backward_kernel(const Backward<T> at) {
  __shared__ float scratch[kMostWarps];
  const std::int64_t row = blockIdx.x, start = row * at.columns;
  const float mean = at.mean[row], rstd = at.rstd[row];
  float sum_g = 0, sum_gx = 0;
  for (int j = threadIdx.x; j < at.columns; j += blockDim.x) {
    const float g = to_float(at.dy[start + j]) * to_float(at.weight[j]);
    sum_g += g;
    sum_gx += g * (to_float(at.x[start + j]) - mean) * rstd;
  }
  const float mean_g = block_sum(sum_g, scratch) / at.columns;
  const float mean_gx = block_sum(sum_gx, scratch) / at.columns;
  for (int j = threadIdx.x; j < at.columns; j += blockDim.x) {
    // Rounded as in the sum, or a row of one column would be left with the rounding's error times rstd.
    const float g = __fmul_rn(to_float(at.dy[start + j]), to_float(at.weight[j]));
    const float normal = (to_float(at.x[start + j]) - mean) * rstd;
    const float old = at.add ? to_float(at.dx[start + j]) : 0;
    at.dx[start + j] = from_float<T>(old + at.input_gradient(g, normal, mean_g, mean_gx, rstd));
  }
}

template <class T>
void any_backward(Context& context, const Backward<T>& at, const ColumnTargets& targets) {
  if (targets.at[0].data || targets.at[1].data)
    column_sums<1, 2>(context, ParameterTerms<T>{at}, at.rows, at.columns, targets);
  if (!at.dx) return;
  any_backward_kernel<T><<<static_cast<unsigned>(at.rows), threads_for(at.columns, kThreads), 0,
                           tandem::cuda::stream_of(context.compute())>>>(at);
  TANDEM_CUDA(cudaGetLastError());
}

}  // namespace

void layer_norm_backward(Context& context, const Tensor& dy, const Tensor& x, const Tensor& weight,
                         const Tensor& mean, const Tensor& rstd, const GradientOut& dx,
                         const GradientOut& dweight, const GradientOut& dbias) {
  const ColumnTargets targets{{target_of(dweight.grad, dweight.write), target_of(dbias.grad, dbias.write)},
                              2};
  const std::int64_t columns = x.last();
  if (columns == 0) return;
  if (x.numel() == 0) return sum_slices(context, nullptr, 0, columns, targets);  // sums of nothing
  visit_device(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Backward<T> at{.dy = static_cast<const T*>(dy.data()),
                         .x = static_cast<const T*>(x.data()),
                         .weight = static_cast<const T*>(weight.data()),
                         .mean = mean.as<float>(),
                         .rstd = rstd.as<float>(),
                         .dx = static_cast<T*>(dx.grad.data()),
                         .add = dx.grad && dx.write == Write::add,
                         .rows = x.rows(),
                         .columns = static_cast<int>(columns)};
    if (columns % kN == 0 && columns <= kMostColumns && aligned(at.dy, at.x, at.weight, at.dx))
      backward(context, at, targets);
    else
      any_backward(context, at, targets);
  });
}

}  // namespace tandem::ops::cuda

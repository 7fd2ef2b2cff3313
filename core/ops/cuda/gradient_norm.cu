#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/vectors.cuh"
#include "core/ops/update.h"

namespace tandem::ops::cuda {

namespace {

constexpr int kThreads = 256, kTotalThreads = 1024;

/// Σ x² of the vectors of a chunk that are this thread's, loaded at once or element by element.
template <int N, bool kAligned, class G>
__device__ double sum_of_squares(const G* x, std::int64_t vectors) {
  double sum = 0;
#pragma unroll 4
  for (std::int64_t v = threadIdx.x; v < vectors; v += kThreads) {
    Elements<G, N> e;
    if constexpr (kAligned)
      e = Elements<G, N>::load(x + v * N);
    else
      for (int i = 0; i < N; ++i) e.at[i] = x[v * N + i];
#pragma unroll
    for (int i = 0; i < N; ++i) sum += static_cast<double>(e[i]) * static_cast<double>(e[i]);
  }
  return sum;
}

/// sums [chunks] = Σ grad²; a block for each chunk. The order of additions is the same wherever the chunk
/// lies.
template <class G>
__global__ void __launch_bounds__(kThreads)
    squares_kernel(const Segment* chunks, const G* grad, double* sums) {
  constexpr int N = kPerVector<G>;
  __shared__ double scratch[kMostWarps];
  const Segment chunk = chunks[blockIdx.x];
  const G* x = grad + chunk.offset;
  const std::int64_t vectors = chunk.count / N;
  double sum = reinterpret_cast<std::uintptr_t>(x) % 16 == 0 ? sum_of_squares<N, true>(x, vectors)
                                                             : sum_of_squares<N, false>(x, vectors);
  const std::int64_t rest = vectors * N + threadIdx.x;
  if (rest < chunk.count)
    sum += static_cast<double>(to_float(x[rest])) * static_cast<double>(to_float(x[rest]));
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// norm = √Σ sums, in a fixed order; one block.
__global__ void __launch_bounds__(kTotalThreads)
    norm_kernel(const double* sums, std::int64_t count, double* norm) {
  __shared__ double scratch[kMostWarps];
  double sum = 0;
#pragma unroll 8
  for (std::int64_t i = threadIdx.x; i < count; i += kTotalThreads) sum += sums[i];
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) *norm = sqrt(sum);
}

__global__ void clip_kernel(const double* norm, double max_norm, double* scalars) {
  if (*norm > max_norm) scalars[kGradScale] *= max_norm / (*norm + 1e-6);
}

__global__ void unscale_kernel(const LossScaleRule rule, double* norm, double* state, double* scalars) {
  if (isfinite(*norm)) {
    scalars[kGradScale] /= state[kScale];
    *norm /= state[kScale];
    if (++state[kGoodSteps] >= static_cast<double>(rule.interval)) {
      state[kScale] *= rule.growth;
      state[kGoodSteps] = 0;
    }
  } else {
    scalars[kSkip] = 1;
    state[kScale] = fmax(1.0, state[kScale] * rule.backoff);
    state[kGoodSteps] = 0;
    ++state[kSkippedSteps];
  }
  scalars[kStep] -= state[kSkippedSteps];
}

}  // namespace

void sums_of_squares(Context& context, const SegmentTable& table, const Tensor& grad, const Tensor& sums) {
  visit_device(grad.dtype(), [&](auto zero) {
    using G = decltype(zero);
    squares_kernel<G>
        <<<static_cast<unsigned>(sums.numel()), kThreads, 0, tandem::cuda::stream_of(context.compute())>>>(
            table.device_chunks(), static_cast<const G*>(grad.data()), sums.as<double>());
  });
  TANDEM_CUDA(cudaGetLastError());
}

void norm_of_sums(Context& context, const Tensor& sums, const Tensor& norm) {
  norm_kernel<<<1, kTotalThreads, 0, tandem::cuda::stream_of(context.compute())>>>(
      sums.as<double>(), sums.numel(), norm.as<double>());
  TANDEM_CUDA(cudaGetLastError());
}

void clip_scale(Context& context, const Tensor& norm, double max_norm, const Tensor& scalars) {
  clip_kernel<<<1, 1, 0, tandem::cuda::stream_of(context.compute())>>>(norm.as<double>(), max_norm,
                                                                       scalars.as<double>());
  TANDEM_CUDA(cudaGetLastError());
}

void unscale(Context& context, const LossScaleRule& rule, const Tensor& norm, const Tensor& state,
             const Tensor& scalars) {
  unscale_kernel<<<1, 1, 0, tandem::cuda::stream_of(context.compute())>>>(
      rule, norm.as<double>(), state.as<double>(), scalars.as<double>());
  TANDEM_CUDA(cudaGetLastError());
}

}  // namespace tandem::ops::cuda

#include <algorithm>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/elements.cuh"

namespace tandem::ops::cuda {

namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 4096;

template <class T>
__global__ void axpy_kernel(float factor, const T* x, T* y, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    y[i] = from_float<T>(to_float(y[i]) + factor * to_float(x[i]));
}

}  // namespace

void axpy(Context& context, double factor, const Tensor& x, const Tensor& y) {
  const std::int64_t count = x.numel();
  const auto blocks = static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostBlocks));
  visit_device(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    axpy_kernel<<<blocks, kThreads, 0, tandem::cuda::stream_of(context.compute())>>>(
        static_cast<float>(factor), static_cast<const T*>(x.data()), static_cast<T*>(y.data()), count);
  });
  TANDEM_CUDA(cudaGetLastError());
}

}  // namespace tandem::ops::cuda

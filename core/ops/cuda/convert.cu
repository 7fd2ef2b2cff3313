#include <algorithm>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/elements.cuh"

namespace tandem::ops::cuda {

namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 4096;

template <class From, class To>
__global__ void convert_kernel(const From* from, To* to, std::int64_t count, float factor) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    to[i] = from_float<To>(factor * to_float(from[i]));
}

__global__ void add_scaled_kernel(const double* factor, const double* value, double* to, Write write) {
  const double product = *factor * *value;
  *to = write == Write::add ? *to + product : product;
}

}  // namespace

void convert(Context& context, const Tensor& from, const Tensor& to, float factor) {
  const std::int64_t count = from.numel();
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostBlocks));
  visit_device(from.dtype(), [&](auto in) {
    visit_device(to.dtype(), [&](auto out) {
      using From = decltype(in);
      using To = decltype(out);
      convert_kernel<<<blocks, kThreads, 0, tandem::cuda::stream_of(context.compute())>>>(
          static_cast<const From*>(from.data()), static_cast<To*>(to.data()), count, factor);
    });
  });
  TANDEM_CUDA(cudaGetLastError());
}

void add_scaled(Context& context, const Tensor& factor, const Tensor& value, const Tensor& to, Write write) {
  add_scaled_kernel<<<1, 1, 0, tandem::cuda::stream_of(context.compute())>>>(
      factor.as<double>(), value.as<double>(), to.as<double>(), write);
  TANDEM_CUDA(cudaGetLastError());
}

}  // namespace tandem::ops::cuda

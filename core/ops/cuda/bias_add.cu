#include <algorithm>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/bias_add.h"
#include "core/ops/cuda/elements.cuh"

namespace tandem::ops::cuda {

namespace {

constexpr int kLanes = 32, kRows = 8;  // a block: a warp for each of eight rows
constexpr std::int64_t kMostBlocks = 8192;

// One element at a time: cuBLASLt adds the bias wherever rows are aligned enough for vectors.
template <class T>
__global__ void add_bias_to_rows(T* y, const T* bias, std::int64_t rows, std::int64_t out) {
  const std::int64_t step = std::int64_t{gridDim.x} * kRows;
  for (std::int64_t row = std::int64_t{blockIdx.x} * kRows + threadIdx.y; row < rows; row += step)
    for (std::int64_t j = threadIdx.x; j < out; j += kLanes) {
      T& element = y[row * out + j];
      element = from_float<T>(to_float(element) + to_float(bias[j]));
    }
}

}  // namespace

void add_bias(Context& context, const Tensor& bias, const Tensor& y) {
  if (y.numel() == 0) return;
  const std::int64_t rows = y.rows(), out = y.last();
  const auto blocks = static_cast<unsigned>(std::min((rows + kRows - 1) / kRows, kMostBlocks));
  visit_device(y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    add_bias_to_rows<<<blocks, dim3(kLanes, kRows), 0, tandem::cuda::stream_of(context.compute())>>>(
        static_cast<T*>(y.data()), static_cast<const T*>(bias.data()), rows, out);
    TANDEM_CUDA(cudaGetLastError());
  });
}

}  // namespace tandem::ops::cuda

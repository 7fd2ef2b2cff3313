#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/vectors.cuh"

namespace tandem::ops::cuda {

namespace {

constexpr int kThreads = 1024;

/// Column j of a row-major matrix, seen by one block.
struct Column {
  float* first;
  std::int64_t rows, stride;

  __device__ float& operator[](std::int64_t i) const { return first[i * stride]; }
};

/// For every thread of the block.
__device__ double dot(const Column& a, const Column& b, double* scratch) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < a.rows; i += kThreads)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return block_sum(sum, scratch);
}

/// One block: the columns depend on each other, and there are few.
__global__ void __launch_bounds__(kThreads)
    orthonormalize_kernel(float* matrix, std::int64_t rows, std::int64_t columns) {
  __shared__ double scratch[kMostWarps];
  for (std::int64_t j = 0; j < columns; ++j) {
    const Column v{matrix + j, rows, columns};
    if (dot(v, v, scratch) == 0) {
      if (threadIdx.x == 0) v[j] = 1;
      __syncthreads();
    }
    for (int pass = 0; pass < 2; ++pass)
      for (std::int64_t k = 0; k < j; ++k) {
        const Column u{matrix + k, rows, columns};
        const auto along = static_cast<float>(dot(u, v, scratch));
        for (std::int64_t i = threadIdx.x; i < rows; i += kThreads) v[i] -= along * u[i];
      }
    const double length = sqrt(dot(v, v, scratch));
    for (std::int64_t i = threadIdx.x; length > 0 && i < rows; i += kThreads)
      v[i] = static_cast<float>(v[i] / length);
  }
}

}  // namespace

void orthonormalize(Context& context, const Tensor& matrix) {
  orthonormalize_kernel<<<1, kThreads, 0, tandem::cuda::stream_of(context.compute())>>>(
      matrix.as<float>(), matrix.shape()[0], matrix.shape()[1]);
  TANDEM_CUDA(cudaGetLastError());
}

}  // namespace tandem::ops::cuda

#pragma once

#include <cuda_runtime_api.h>

#include "core/base/error.h"

namespace tandem::cuda {

/// Throws DeviceError with the failed call and CUDA's own text unless `status` is cudaSuccess.
inline void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess)
    throw DeviceError("{} failed: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status));
}

}  // namespace tandem::cuda

/// Every call of CUDA's runtime goes through this; after a kernel's launch: TANDEM_CUDA(cudaGetLastError()).
#define TANDEM_CUDA(call) ::tandem::cuda::check((call), #call)

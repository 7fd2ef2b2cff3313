#pragma once

#include <cublasLt.h>

#include "core/base/error.h"

namespace tandem::ops::cuda {

/// Throws DeviceError with the failed call and the library's own text unless `status` is
/// CUBLAS_STATUS_SUCCESS.
inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw DeviceError("{} failed: {} ({})", call, cublasLtGetStatusString(status),
                      cublasLtGetStatusName(status));
}

}  // namespace tandem::ops::cuda

/// Every call of cuBLASLt goes through this.
#define TANDEM_CUBLAS(call) ::tandem::ops::cuda::check((call), #call)

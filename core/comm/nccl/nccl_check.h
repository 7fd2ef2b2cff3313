#pragma once

#include <nccl.h>

#include "core/base/error.h"

namespace tandem::nccl {

/// Throws CommError with the failed call and NCCL's own text unless `status` is ncclSuccess.
inline void check(ncclResult_t status, const char* call) {
  if (status != ncclSuccess)
    throw CommError("{} failed: {}; {}", call, ncclGetErrorString(status), ncclGetLastError(nullptr));
}

}  // namespace tandem::nccl

/// Every call of NCCL goes through this.
#define TANDEM_NCCL(call) ::tandem::nccl::check((call), #call)

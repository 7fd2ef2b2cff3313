#pragma once

#include <string>

#include <mpi.h>

#include "core/base/error.h"

namespace tandem::mpi {

/// What MPI says about a status, e.g. "MPI_ERR_TRUNCATE: message truncated".
std::string error_text(int status);

/// Throws CommError with the failed call and MPI's own text unless `status` is MPI_SUCCESS.
inline void check(int status, const char* call) {
  if (status != MPI_SUCCESS) throw CommError("{} failed: {}", call, error_text(status));
}

}  // namespace tandem::mpi

/// Every call of MPI goes through this.
#define TANDEM_MPI(call) ::tandem::mpi::check((call), #call)

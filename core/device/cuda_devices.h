#pragma once

#include <string>

namespace tandem {

/// The GPUs that a program could use here.
struct CudaDevices {
  int count = 0;
  std::string absence;  ///< why there is none: "built without CUDA", "no driver …"; empty if there is one
  bool built = true;    ///< this program has the CUDA backend
};

/// Never throws: no driver, no GPU and a build without CUDA all come to a count of 0.
CudaDevices find_cuda_devices() noexcept;

}  // namespace tandem

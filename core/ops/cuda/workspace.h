#pragma once

#include <cstddef>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_device.h"

namespace tandem::ops::cuda {

/// Scratch memory of a GPU for operations on the compute stream: what one leaves there, the next may
/// overwrite. `device_of(context).part<Workspace>()`.
class Workspace {
 public:
  static constexpr std::size_t kBytes = 64 << 20;  // cuBLASLt asks for 32 MiB on Hopper

  Workspace() { TANDEM_CUDA(cudaMalloc(&data_, kBytes)); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { cudaFree(data_); }

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace tandem::ops::cuda

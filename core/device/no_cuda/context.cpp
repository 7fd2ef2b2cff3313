// A build without the CUDA backend.
#include "core/device/context.h"

#include "core/base/error.h"
#include "core/device/cuda_devices.h"

namespace tandem {

CudaDevices find_cuda_devices() noexcept {
  return {.count = 0, .absence = "this program was built without CUDA", .built = false};
}

Context Context::cuda(int index, bool) {
  throw DeviceError("no GPU {}: this program was built without CUDA", index);
}

}  // namespace tandem

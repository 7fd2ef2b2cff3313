#include "core/device/dry/dry_device.h"

#include <sys/mman.h>

#include "core/base/error.h"

namespace tandem::dry {

std::byte* DryDevice::allocate(std::int64_t bytes) {
  void* memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw DeviceError("no addresses for {} bytes", bytes);
  return static_cast<std::byte*>(memory);
}

void DryDevice::release(std::byte* memory, std::int64_t bytes) noexcept {
  munmap(memory, static_cast<std::size_t>(bytes));
}

}  // namespace tandem::dry

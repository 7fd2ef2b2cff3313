#include <utility>

#include "core/device/device_impl.h"

namespace tandem {

DeviceMemory::DeviceMemory(std::shared_ptr<DeviceImpl> device, std::int64_t bytes, Kind kind)
    : device_(std::move(device)), bytes_(bytes), kind_(kind) {
  data_ = kind == Kind::device ? device_->allocate(bytes) : device_->allocate_staging(bytes);
}

DeviceMemory::~DeviceMemory() {
  if (!data_) return;
  if (kind_ == Kind::device)
    device_->release(data_, bytes_);
  else
    device_->release_staging(data_, bytes_);
}

void DeviceMemory::swap(DeviceMemory& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(kind_, other.kind_);
}

}  // namespace tandem

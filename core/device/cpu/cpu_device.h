#pragma once

#include "core/device/device_impl.h"

namespace tandem::cpu {

/// The host itself: device and staging memory are one.
class CpuDevice : public DeviceImpl {
 public:
  std::unique_ptr<EventImpl> make_event() const override;
  std::unique_ptr<TimeMarkImpl> make_time_mark() const override;
  std::string name() const override;
  MemoryInfo memory() const override;
  std::unique_ptr<GraphImpl> capture(StreamImpl& stream, const std::function<void()>& work) override;
  std::byte* allocate(std::int64_t bytes) override;
  void release(std::byte* memory, std::int64_t bytes) noexcept override;
  std::byte* allocate_staging(std::int64_t bytes) override { return allocate(bytes); }
  void release_staging(std::byte* memory, std::int64_t bytes) noexcept override { release(memory, bytes); }
};

}  // namespace tandem::cpu

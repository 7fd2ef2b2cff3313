#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/device/device.h"
#include "core/device/graph.h"
#include "core/device/stream.h"

namespace tandem {

/// What a backend implements of a device, beside its streams. One for each Context, shared with the memory
/// that was taken from it.
class DeviceImpl {
 public:
  virtual ~DeviceImpl() = default;

  virtual std::unique_ptr<EventImpl> make_event() const = 0;
  virtual std::unique_ptr<TimeMarkImpl> make_time_mark() const = 0;

  virtual std::string name() const = 0;
  virtual MemoryInfo memory() const = 0;
  /// Where it sits ("0000:19:00.0"), and what drives it ("CUDA 13.0"); empty for a CPU.
  virtual std::string bus_id() const { return ""; }
  virtual std::string runtime() const { return ""; }

  /// See Context::capture(). `stream`: the compute stream.
  virtual std::unique_ptr<GraphImpl> capture(StreamImpl& stream, const std::function<void()>& work) = 0;

  /// `bytes` (> 0) of zeros in the device's memory, at an address that any vector access accepts. Throws
  /// DeviceError that says how much was missing.
  virtual std::byte* allocate(std::int64_t bytes) = 0;
  virtual void release(std::byte* memory, std::int64_t bytes) noexcept = 0;

  /// The same in host memory that the device copies to and from without the host waiting for it.
  virtual std::byte* allocate_staging(std::int64_t bytes) = 0;
  virtual void release_staging(std::byte* memory, std::int64_t bytes) noexcept = 0;
};

/// An owner of memory: of the device, or of the host for staging. Keeps the device alive.
class DeviceMemory {
 public:
  enum class Kind { device, staging };

  DeviceMemory() = default;
  DeviceMemory(std::shared_ptr<DeviceImpl> device, std::int64_t bytes, Kind kind = Kind::device);
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceMemory();

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void swap(DeviceMemory& other) noexcept;

  std::shared_ptr<DeviceImpl> device_;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  Kind kind_ = Kind::device;
};

}  // namespace tandem

#pragma once

#include <cuda_runtime_api.h>
#include <memory>
#include <typeindex>
#include <unordered_map>

#include "core/device/context.h"

namespace tandem::cuda {

/// One GPU, and what operations keep on it beside their tensors.
class CudaDevice final : public DeviceImpl {
 public:
  /// Makes GPU `index` the calling thread's device.
  CudaDevice(int index, bool tf32);

  int index() const { return index_; }
  bool tf32() const { return tf32_; }
  const cudaDeviceProp& properties() const { return properties_; }

  std::unique_ptr<EventImpl> make_event() const override;
  std::unique_ptr<TimeMarkImpl> make_time_mark() const override;
  std::string name() const override;
  MemoryInfo memory() const override;
  std::string bus_id() const override;
  std::string runtime() const override;
  std::unique_ptr<GraphImpl> capture(StreamImpl& stream, const std::function<void()>& work) override;
  std::byte* allocate(std::int64_t bytes) override;
  void release(std::byte* memory, std::int64_t bytes) noexcept override;
  std::byte* allocate_staging(std::int64_t bytes) override;
  void release_staging(std::byte* memory, std::int64_t bytes) noexcept override;

  /// The device's T, made at the first call: a library's handle, say, or a table of chosen algorithms. For
  /// the rank's own thread.
  template <class T>
  T& part() {
    std::shared_ptr<void>& part = parts_[typeid(T)];
    if (!part) part = std::make_shared<T>();
    return *static_cast<T*>(part.get());
  }

 private:
  int index_;
  bool tf32_;
  cudaDeviceProp properties_{};
  std::unordered_map<std::type_index, std::shared_ptr<void>> parts_;
};

/// The GPU of a context whose device is one.
inline CudaDevice& device_of(const Context& context) {
  return static_cast<CudaDevice&>(context.impl());
}

}  // namespace tandem::cuda

#include "core/device/context.h"

#include "core/base/error.h"
#include "core/device/cpu/cpu_device.h"
#include "core/device/cpu/cpu_stream.h"

namespace tandem {

Context Context::cpu(int compute_threads) {
  require(compute_threads >= 1, "compute_threads is {}", compute_threads);
  Context context(Device{DeviceKind::cpu, 0}, compute_threads, std::make_shared<cpu::CpuDevice>());
  context.compute_ = std::make_shared<Stream>(std::make_unique<cpu::InlineStream>());
  context.copy_ = context.compute_;
  context.comm_ = std::make_shared<Stream>(std::make_unique<cpu::WorkerStream>("comm"));
  context.control_ = context.comm_;
  return context;
}

Graph Context::capture(const std::function<void()>& work) {
  return Graph(impl_->capture(compute_->impl(), work));
}

Event Context::make_event() const {
  return Event(impl_->make_event());
}

TimeMark Context::make_time_mark() const {
  return TimeMark(impl_->make_time_mark());
}

DeviceMemory Context::memory(std::int64_t bytes, DeviceMemory::Kind kind) const {
  return {impl_, bytes, kind};
}

}  // namespace tandem

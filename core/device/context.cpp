#include "core/device/context.h"

#include "core/base/error.h"
#include "core/device/cpu/cpu_device.h"
#include "core/device/cpu/cpu_stream.h"
#include "core/device/dry/dry_device.h"

namespace tandem {

Context Context::cpu(int compute_threads) {
  require(compute_threads >= 1, "compute_threads is {}", compute_threads);
  return on_host(Device{DeviceKind::cpu, 0}, compute_threads, std::make_shared<cpu::CpuDevice>());
}

Context Context::dry() {
  return on_host(Device{DeviceKind::dry, 0}, 1, std::make_shared<dry::DryDevice>());
}

Context Context::on_host(Device device, int compute_threads, std::shared_ptr<DeviceImpl> impl) {
  Context context(device, compute_threads, std::move(impl));
  context.compute_ = std::make_shared<Stream>(std::make_unique<cpu::InlineStream>());
  context.copy_ = context.compute_;
  context.comm_ = std::make_shared<Stream>(std::make_unique<cpu::WorkerStream>("comm"));
  context.control_ = context.comm_;
  context.beside_.reset(new Context(context.device_, 1, context.impl_));
  context.beside_->compute_ = std::make_shared<Stream>(std::make_unique<cpu::InlineStream>());
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

#include "core/device/context.h"

#include "core/base/error.h"
#include "core/device/cpu/cpu_event.h"
#include "core/device/cpu/cpu_stream.h"

namespace tandem {

Context Context::cpu(int compute_threads) {
  require(compute_threads >= 1, "compute_threads is {}", compute_threads);
  return {Device{DeviceKind::cpu, 0}, compute_threads, Stream(std::make_unique<cpu::InlineStream>()),
          Stream(std::make_unique<cpu::WorkerStream>("comm")), Stream(std::make_unique<cpu::InlineStream>())};
}

Event Context::make_event() const {
  return Event(std::make_unique<cpu::CpuEvent>());
}

TimeMark Context::make_time_mark() const {
  return TimeMark(std::make_unique<cpu::CpuTimeMark>());
}

}  // namespace tandem

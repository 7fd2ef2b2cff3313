#include "core/device/cpu/cpu_event.h"

#include <chrono>
#include <utility>

namespace tandem::cpu {

std::uint64_t EventState::request() {
  std::lock_guard lock(mutex_);
  return ++requested_;
}

void EventState::complete(std::uint64_t number, std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  completed_ = number;
  error_ = std::move(error);
  changed_.notify_all();
}

std::uint64_t EventState::requested() const {
  std::lock_guard lock(mutex_);
  return requested_;
}

bool EventState::reached() const {
  std::lock_guard lock(mutex_);
  return completed_ >= requested_;
}

void EventState::wait_for(std::uint64_t number) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return completed_ >= number; });
  if (error_) std::rethrow_exception(error_);
}

void CpuTimeMark::take(Reading& reading) {
  reading.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_release);
}

double CpuTimeMark::us_since(const TimeMarkImpl& start) const {
  const auto& other = static_cast<const CpuTimeMark&>(start);
  return static_cast<double>(reading_->load(std::memory_order_acquire) -
                             other.reading_->load(std::memory_order_acquire)) *
         1e-3;
}

}  // namespace tandem::cpu

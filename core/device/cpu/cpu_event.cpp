#include "core/device/cpu/cpu_event.h"

#include <chrono>

namespace tandem::cpu {

std::uint64_t CpuEvent::request() {
  std::lock_guard lock(mutex_);
  return ++requested_;
}

void CpuEvent::complete(std::uint64_t number, std::exception_ptr error) {
  // Notify under the lock: the waiter may destroy the event as soon as it can leave wait_for.
  std::lock_guard lock(mutex_);
  completed_ = number;
  error_ = std::move(error);
  changed_.notify_all();
}

std::uint64_t CpuEvent::requested() const {
  std::lock_guard lock(mutex_);
  return requested_;
}

void CpuEvent::wait_for(std::uint64_t number) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return completed_ >= number; });
  if (error_) std::rethrow_exception(error_);
}

bool CpuEvent::reached() const {
  std::lock_guard lock(mutex_);
  return completed_ >= requested_;
}

void CpuTimeMark::set_now() {
  ns_.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_release);
}

double CpuTimeMark::us_since(const TimeMarkImpl& start) const {
  const auto& other = static_cast<const CpuTimeMark&>(start);
  return static_cast<double>(ns_.load(std::memory_order_acquire) -
                             other.ns_.load(std::memory_order_acquire)) *
         1e-3;
}

}  // namespace tandem::cpu

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>

#include "core/device/stream.h"

namespace tandem::cpu {

/// An event as a count of recordings asked for and a count of recordings reached.
class CpuEvent final : public EventImpl {
 public:
  /// A stream was asked to record the event; returns the recording's number.
  std::uint64_t request();
  /// The stream got to recording `number`; `error` is what its tasks threw until then, or null.
  void complete(std::uint64_t number, std::exception_ptr error);
  /// The recording that a wait asked for now has to wait for.
  std::uint64_t requested() const;
  /// Blocks until recording `number` is reached; rethrows its error.
  void wait_for(std::uint64_t number) const;

  bool reached() const override;
  void synchronize() const override { wait_for(requested()); }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t requested_ = 0, completed_ = 0;
  std::exception_ptr error_;
};

/// A reading of the monotonic clock. Made by one thread, read by another.
class CpuTimeMark final : public TimeMarkImpl {
 public:
  void request() { ns_.store(0, std::memory_order_relaxed); }
  void set_now();

  bool reached() const override { return ns_.load(std::memory_order_acquire) != 0; }
  double us_since(const TimeMarkImpl& start) const override;

 private:
  std::atomic<std::int64_t> ns_{0};
};

}  // namespace tandem::cpu

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include "core/device/stream.h"

namespace tandem::cpu {

/// What an event is: a count of recordings asked for and a count of recordings reached. Shared between the
/// event and the queued tasks that record it or wait for it, so an event may be destroyed before its stream
/// gets there.
class EventState {
 public:
  /// A stream was asked to record the event; returns the recording's number.
  std::uint64_t request();
  /// The stream got to recording `number`; `error` is what its tasks threw until then, or null.
  void complete(std::uint64_t number, std::exception_ptr error);
  /// The recording that a wait asked for now has to wait for.
  std::uint64_t requested() const;
  bool reached() const;
  /// Blocks until recording `number` is reached; rethrows its error.
  void wait_for(std::uint64_t number) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t requested_ = 0, completed_ = 0;
  std::exception_ptr error_;
};

class CpuEvent final : public EventImpl {
 public:
  bool reached() const override { return state_->reached(); }
  void synchronize() const override { state_->wait_for(state_->requested()); }

  const std::shared_ptr<EventState>& state() const { return state_; }

 private:
  std::shared_ptr<EventState> state_ = std::make_shared<EventState>();
};

/// A reading of the monotonic clock in nanoseconds, 0 until it is reached. Made by one thread, read by
/// another; shared with the queued task that takes it, as an event's state is.
class CpuTimeMark final : public TimeMarkImpl {
 public:
  using Reading = std::atomic<std::int64_t>;

  bool reached() const override { return reading_->load(std::memory_order_acquire) != 0; }
  double us_since(const TimeMarkImpl& start) const override;

  const std::shared_ptr<Reading>& reading() const { return reading_; }
  static void take(Reading& reading);

 private:
  std::shared_ptr<Reading> reading_ = std::make_shared<Reading>(0);
};

}  // namespace tandem::cpu

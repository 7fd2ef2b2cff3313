#pragma once

#include <cstddef>
#include <memory>

#include "core/device/task.h"

namespace tandem {

/// What a backend implements; users hold the owners below.
class EventImpl {
 public:
  virtual ~EventImpl() = default;
  virtual bool reached() const = 0;
  virtual void synchronize() const = 0;
};

class TimeMarkImpl {
 public:
  virtual ~TimeMarkImpl() = default;
  virtual bool reached() const = 0;
  /// Microseconds from `start` to this mark; both have been reached.
  virtual double us_since(const TimeMarkImpl& start) const = 0;
};

class StreamImpl {
 public:
  virtual ~StreamImpl() = default;
  virtual void record(EventImpl& event) = 0;
  virtual void wait(const EventImpl& event) = 0;
  virtual void mark(TimeMarkImpl& mark) = 0;
  virtual void enqueue(Task task) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void synchronize() = 0;
};

/// A point in a stream's order that another stream, or the host, can wait for. It orders; it does not measure
/// (see TimeMark). It may be recorded again and again; waiting means: for the recording made last before the
/// wait was asked for. One that was never recorded counts as reached. Events are made by
/// Context::make_event().
class Event {
 public:
  Event() = default;
  explicit Event(std::unique_ptr<EventImpl> impl) : impl_(std::move(impl)) {}

  bool reached() const { return impl_->reached(); }
  /// Blocks the host. Rethrows what a task before the event threw.
  void synchronize() const { impl_->synchronize(); }

  EventImpl& impl() const { return *impl_; }

 private:
  std::unique_ptr<EventImpl> impl_;
};

/// A point in time on a stream, for measuring. Read it some steps later: reading never blocks. Made by
/// Context::make_time_mark().
class TimeMark {
 public:
  TimeMark() = default;
  explicit TimeMark(std::unique_ptr<TimeMarkImpl> impl) : impl_(std::move(impl)) {}

  bool reached() const { return impl_->reached(); }
  /// Microseconds from `start` to this mark. Both must have been reached.
  double us_since(const TimeMark& start) const { return impl_->us_since(*start.impl_); }

  TimeMarkImpl& impl() const { return *impl_; }

 private:
  std::unique_ptr<TimeMarkImpl> impl_;
};

/// An ordered queue of work. On CUDA a stream of the device. On the CPU either inline (the compute stream:
/// work is done when it is asked for, on the calling thread) or a worker thread with a queue (the comm
/// stream); the ordering rules are the same, so code above does not care.
class Stream {
 public:
  explicit Stream(std::unique_ptr<StreamImpl> impl) : impl_(std::move(impl)) {}

  void record(Event& event) { impl_->record(event.impl()); }
  /// Later work of this stream waits for the event; the host does not (on the CPU's inline stream it does,
  /// being that stream). Throws, there or at a later wait, what a task before the event threw.
  void wait(const Event& event) { impl_->wait(event.impl()); }
  /// Notes the time at which this stream gets here.
  void mark(TimeMark& mark) { impl_->mark(mark.impl()); }
  /// Runs host code in stream order.
  void enqueue(Task task) { impl_->enqueue(std::move(task)); }
  /// Copies bytes in stream order, between any of host and device; tensors have tandem::copy().
  void copy(void* to, const void* from, std::size_t bytes) { impl_->copy(to, from, bytes); }
  /// Blocks the host until all work asked for so far is done; rethrows what a task threw.
  void synchronize() { impl_->synchronize(); }

  StreamImpl& impl() const { return *impl_; }

 private:
  std::unique_ptr<StreamImpl> impl_;
};

}  // namespace tandem

#pragma once

#include <cuda_runtime_api.h>

#include "core/device/stream.h"

namespace tandem::cuda {

/// Owns a cudaEvent_t, made for the calling thread's device.
class EventHandle {
 public:
  explicit EventHandle(unsigned flags);
  EventHandle(const EventHandle&) = delete;
  EventHandle& operator=(const EventHandle&) = delete;
  ~EventHandle();

  cudaEvent_t get() const { return event_; }
  /// True once everything before the last recording is done.
  bool reached() const;

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaEvent final : public EventImpl {
 public:
  // Without timing it is cheaper. A host that waits for one sleeps: it has a loader and loggers beside it.
  CudaEvent() : handle_(cudaEventDisableTiming | cudaEventBlockingSync) {}

  bool reached() const override { return handle_.reached(); }
  void synchronize() const override;

  cudaEvent_t get() const { return handle_.get(); }

 private:
  EventHandle handle_;
};

class CudaTimeMark final : public TimeMarkImpl {
 public:
  CudaTimeMark() : handle_(cudaEventDefault) {}

  bool reached() const override { return recorded_ && handle_.reached(); }
  /// To half a microsecond, which is as fine as CUDA tells time.
  double us_since(const TimeMarkImpl& start) const override;

  void record(cudaStream_t stream);

 private:
  EventHandle handle_;
  bool recorded_ = false;
};

}  // namespace tandem::cuda

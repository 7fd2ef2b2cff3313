#pragma once

#include <cuda_runtime_api.h>

#include "core/device/stream.h"

namespace tandem::cuda {

/// Owns a cudaStream_t of the calling thread's device.
class CudaStream final : public StreamImpl {
 public:
  enum class Priority { normal, high };

  explicit CudaStream(Priority priority = Priority::normal);
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() override;

  cudaStream_t get() const { return stream_; }

  void record(EventImpl& event) override;
  void wait(const EventImpl& event) override;
  void mark(TimeMarkImpl& mark) override;
  /// The task must not call CUDA, and must not throw: it runs on a thread of the driver.
  void enqueue(Task task) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void synchronize() override;

 private:
  cudaStream_t stream_ = nullptr;
};

/// The stream that kernels are launched on.
inline cudaStream_t stream_of(const Stream& stream) {
  return static_cast<CudaStream&>(stream.impl()).get();
}

}  // namespace tandem::cuda

#include "core/device/cuda/cuda_event.h"

#include "core/device/cuda/cuda_check.h"

namespace tandem::cuda {

EventHandle::EventHandle(unsigned flags) {
  TANDEM_CUDA(cudaEventCreateWithFlags(&event_, flags));
}

EventHandle::~EventHandle() {
  cudaEventDestroy(event_);  // its status would only repeat an earlier failure
}

bool EventHandle::reached() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) return false;
  check(status, "cudaEventQuery(event_)");
  return true;
}

void CudaEvent::synchronize() const {
  TANDEM_CUDA(cudaEventSynchronize(get()));
}

void CudaTimeMark::record(cudaStream_t stream) {
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  TANDEM_CUDA(cudaStreamIsCapturing(stream, &capturing));
  // In a graph a mark must be a node of its own, which every replay records anew.
  const unsigned flags =
      capturing == cudaStreamCaptureStatusNone ? cudaEventRecordDefault : cudaEventRecordExternal;
  TANDEM_CUDA(cudaEventRecordWithFlags(handle_.get(), stream, flags));
  recorded_ = true;
}

double CudaTimeMark::us_since(const TimeMarkImpl& start) const {
  float ms = 0;
  TANDEM_CUDA(
      cudaEventElapsedTime(&ms, static_cast<const CudaTimeMark&>(start).handle_.get(), handle_.get()));
  return static_cast<double>(ms) * 1e3;
}

}  // namespace tandem::cuda

#include "core/device/cuda/cuda_stream.h"

#include <memory>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_event.h"

namespace tandem::cuda {

CudaStream::CudaStream(Priority priority) {
  int lowest = 0, highest = 0;
  TANDEM_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  TANDEM_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                           priority == Priority::high ? highest : lowest));
}

CudaStream::~CudaStream() {
  cudaStreamDestroy(stream_);
}

void CudaStream::record(EventImpl& event) {
  TANDEM_CUDA(cudaEventRecord(static_cast<CudaEvent&>(event).get(), stream_));
}

void CudaStream::wait(const EventImpl& event) {
  TANDEM_CUDA(cudaStreamWaitEvent(stream_, static_cast<const CudaEvent&>(event).get()));
}

void CudaStream::mark(TimeMarkImpl& mark) {
  static_cast<CudaTimeMark&>(mark).record(stream_);
}

void CudaStream::enqueue(Task task) {
  auto held = std::make_unique<Task>(std::move(task));
  TANDEM_CUDA(cudaLaunchHostFunc(
      stream_, [](void* p) { (*std::unique_ptr<Task>(static_cast<Task*>(p)))(); }, held.get()));
  held.release();
}

void CudaStream::copy(void* to, const void* from, std::size_t bytes) {
  TANDEM_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_));
}

void CudaStream::synchronize() {
  TANDEM_CUDA(cudaStreamSynchronize(stream_));
}

}  // namespace tandem::cuda

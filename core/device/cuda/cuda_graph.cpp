#include "core/device/cuda/cuda_graph.h"

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"

namespace tandem::cuda {

namespace {

/// The graph as captured, from which an executable one is made.
class CapturedGraph {
 public:
  CapturedGraph(cudaStream_t stream, const std::function<void()>& work) {
    TANDEM_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph_);  // invalidated, most likely: the exception says why
      if (graph_) cudaGraphDestroy(graph_);
      cudaGetLastError();
      throw;
    }
    TANDEM_CUDA(cudaStreamEndCapture(stream, &graph_));
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  ~CapturedGraph() { cudaGraphDestroy(graph_); }

  cudaGraph_t get() const { return graph_; }

 private:
  cudaGraph_t graph_ = nullptr;
};

}  // namespace

CudaGraph::~CudaGraph() {
  cudaGraphExecDestroy(executable_);
}

void CudaGraph::launch(StreamImpl& stream) {
  TANDEM_CUDA(cudaGraphLaunch(executable_, static_cast<CudaStream&>(stream).get()));
}

std::unique_ptr<GraphImpl> capture(StreamImpl& stream, const std::function<void()>& work) {
  const CapturedGraph captured(static_cast<CudaStream&>(stream).get(), work);
  cudaGraphExec_t executable = nullptr;
  // Kernels keep the priority of the stream that they were captured on: communication goes first.
  TANDEM_CUDA(cudaGraphInstantiate(&executable, captured.get(), cudaGraphInstantiateFlagUseNodePriority));
  return std::make_unique<CudaGraph>(executable);
}

}  // namespace tandem::cuda

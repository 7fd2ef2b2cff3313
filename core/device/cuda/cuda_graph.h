#pragma once

#include <cuda_runtime_api.h>
#include <functional>
#include <memory>

#include "core/device/graph.h"

namespace tandem::cuda {

class CudaGraph final : public GraphImpl {
 public:
  /// Takes over an executable graph.
  explicit CudaGraph(cudaGraphExec_t executable) : executable_(executable) {}
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override;

  void launch(StreamImpl& stream) override;

 private:
  cudaGraphExec_t executable_;
};

/// What `work` puts on `stream`, and on streams that wait for it, becomes a graph and is not run. Those
/// streams must have been waited for again when `work` returns. An exception of `work` ends the capture and
/// passes.
std::unique_ptr<GraphImpl> capture(StreamImpl& stream, const std::function<void()>& work);

}  // namespace tandem::cuda

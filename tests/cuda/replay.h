#pragma once

#include <cuda_runtime_api.h>

#include "core/device/context.h"
#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"

namespace tandem {

/// Captures what `work` launches on the compute stream in a graph, without running it, then runs the graph.
/// Work that cannot be captured (an allocation, a synchronisation) throws DeviceError.
template <class Work>
void replay(Context& context, Work&& work) {
  const cudaStream_t stream = cuda::stream_of(context.compute());
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  TANDEM_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  work();
  TANDEM_CUDA(cudaStreamEndCapture(stream, &graph));
  TANDEM_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  TANDEM_CUDA(cudaGraphLaunch(executable, stream));
  context.compute().synchronize();
  TANDEM_CUDA(cudaGraphExecDestroy(executable));
  TANDEM_CUDA(cudaGraphDestroy(graph));
}

}  // namespace tandem

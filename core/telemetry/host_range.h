#pragma once

namespace tandem {

// Named stretches of this thread's time, nested, for NVIDIA's profilers (NVTX): what the host puts on streams
// within one is shown under its name. They cost nothing to speak of where no profiler listens, and do nothing
// in a build without CUDA. Within a graph host code does not run: look with --cuda-graph off.

void push_range(const char* name);
void pop_range();

}  // namespace tandem

#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>
#include <functional>
#include <vector>

namespace tandem::ops::cuda {

/// The median time in µs of one run of each of `count` alternatives, where `run(i)` launches alternative i on
/// the stream. They take turns without a gap, each for some milliseconds at a time, so that all see the same
/// clock: that of a GPU under load, which is lower than in a short burst. Blocks the host; not in a capture.
std::vector<double> time_alternatives(cudaStream_t stream, std::size_t count,
                                      const std::function<void(std::size_t)>& run);

}  // namespace tandem::ops::cuda

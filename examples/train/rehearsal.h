#pragma once

#include <filesystem>

#include "core/comm/world.h"
#include "examples/train/replica.h"

namespace tandem::train {

/// On a GPU, runs one step's forward and backward before the first one that counts: libraries load their
/// kernels, and on rank 0 the algorithms of matrix products are timed that no earlier run has timed (none
/// with
/// --deterministic); the other ranks take its choice over, so that all compute the same bits, and the run's
/// folder (if one is given) keeps it. Parameters stay as they are. Collective; nothing on the CPU.
void rehearse(Context& context, World& world, const Setup& setup, Replica& replica,
              const std::filesystem::path& folder);

}  // namespace tandem::train

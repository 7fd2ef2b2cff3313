#pragma once

#include "core/comm/world.h"
#include "examples/train/replica.h"

namespace tandem::train {

/// Throws UsageError where the plan does not fit into the memory that is free on this rank's device: it says
/// what is missing, and which options would make it fit, each by what it would take.
void check_memory(Context& context, const World& world, const Setup& setup, const MemoryTable& memory);

}  // namespace tandem::train

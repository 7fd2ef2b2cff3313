#pragma once

#include <string>

#include "core/comm/world.h"
#include "core/telemetry/run_facts.h"
#include "examples/train/replica.h"

namespace tandem::train {

/// What run.json says of the run. Collective (ranks tell each other where they run).
RunFacts gather_facts(Context& context, World& world, const Setup& setup, const Blueprint& blueprint);

/// The lines above a run: model, batch, data, memory; with `buckets` (for --dry-run) each bucket too.
std::string introduce(const Setup& setup, const RunFacts& facts, const MemoryTable& memory, bool buckets);

}  // namespace tandem::train

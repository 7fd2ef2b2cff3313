#pragma once

#include <span>
#include <vector>

#include "core/telemetry/summary.h"

namespace tandem {

/// `ranks[r]` are rank r's steps of the window. Whether all measured the same reductions in step k of it.
bool has_buckets(const std::vector<std::span<const StepRecord>>& ranks, std::size_t k);

/// Adds what follows from where waits, collectives and backward lie in time: exposed_wait_ms and
/// exposed_transfer_ms of each rank, late_bytes; and clock_spread.
void add_exposure(Summary& summary, const std::vector<std::span<const StepRecord>>& ranks);

}  // namespace tandem

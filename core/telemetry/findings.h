#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/run_facts.h"
#include "core/telemetry/summary.h"

namespace tandem {

/// What a summary's figures say about the run: one line each, "name: numbers. One thing to change". The
/// signatures are those of docs/measuring.md, "The doctor"; none is tried without a window.
std::vector<std::string> find_causes(const Summary& summary);

/// What follows from where ranks run. `host_cores`: of the host of rank 0.
std::vector<std::string> find_causes(const std::vector<RankPlace>& places, int host_cores,
                                     int compute_threads);

/// The rules by themselves: a line, or nothing. Each stands for one row of the table.
namespace rules {
using Line = std::optional<std::string>;

// findings_ranks.cpp
Line persistent_straggler(const Summary& s);
Line random_straggler(const Summary& s);
// findings_comm.cpp
Line transfer_bound(const Summary& s);
Line no_overlap(const Summary& s);
Line late_gradients(const Summary& s);
Line latency_bound_buckets(const Summary& s);
Line hidden_accumulation(const Summary& s);
// findings_device.cpp
Line data_bound(const Summary& s);
Line launch_bound(const Summary& s);
Line clocks(const Summary& s);

/// Milliseconds a step that the collectives take by themselves.
double total_transfer(const Summary& s);
}  // namespace rules

}  // namespace tandem

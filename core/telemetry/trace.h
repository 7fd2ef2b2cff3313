#pragma once

#include <span>
#include <string>

#include "core/telemetry/clocks.h"
#include "core/telemetry/run_reader.h"

namespace tandem {

/// The content of trace.json for steps `window.first` to `window.last` of a run: Chrome's trace events, which
/// ui.perfetto.dev and chrome://tracing open. A process is a rank, with three threads: host (steps, loading,
/// on rank 0 the run's events), compute (forward, backward, update and the waits in them) and comm (a
/// collective a bucket). An arrow leads from where a bucket became ready to its collective's start, on to its
/// end and to where compute had it. Times are microseconds since rank 0's first step.
///
/// Format: "Trace Event Format", Google, 2016. Slices of a thread nest, and no duration is negative: what
/// rounding or the log's three decimals push over an edge is cut off there.
std::string trace_json(const Run& run, std::span<const EventRecord> events, const ClockAlignment& clocks,
                       const Window& window);

/// The steps that a trace shows unless it is told: 20 from the stable window's start, or the run's last 20.
Window trace_window(const Run& run);

}  // namespace tandem

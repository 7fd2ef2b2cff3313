#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/telemetry/step_record.h"

namespace tandem {

/// The compute stream stood still for a collective, in microseconds since the step's start.
struct WaitSpan {
  std::optional<Phase> phase;  ///< in which it fell, if in one
  double start_us = 0, end_us = 0;
};

/// Fills the sums of `record` that follow from its `phases`, its `buckets` and `waits`: data_bubble_ms,
/// forward_ms, backward_ms, optimizer_ms and exposed_comm_ms. A wait within a phase is charged to exposed
/// communication alone.
void account_phases(StepRecord& record, std::span<const WaitSpan> waits);

/// host_ms, as what is left of the step: only where compute happens on the host (the CPU backend) is that its
/// meaning.
void account_host(StepRecord& record);

/// Length of the union of intervals [first, second]. Sorts them.
double union_length(std::span<std::pair<double, double>> intervals);

}  // namespace tandem

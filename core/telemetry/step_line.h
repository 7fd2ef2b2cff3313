#pragma once

#include <fmt/format.h>

#include "core/telemetry/step_record.h"

namespace tandem {

/// Version of the format of run.json, steps.rankR.jsonl and events.jsonl: a field of each line.
inline constexpr int kLogVersion = 1;

/// Appends the record as one line of steps.rankR.jsonl. Milliseconds are written to the nanosecond. A number
/// that is infinite or not a number becomes null, as JSON has none. Allocates only to enlarge `line`.
void append_step_line(const StepRecord& record, fmt::memory_buffer& line);

/// The same for events.jsonl.
void append_event_line(const EventRecord& event, fmt::memory_buffer& line);

}  // namespace tandem

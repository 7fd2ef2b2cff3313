#pragma once

#include <filesystem>
#include <vector>

#include "core/telemetry/step_record.h"

namespace tandem {

/// The lines of a run's events.jsonl, in their order; none where the file is missing. A line that is cut off
/// or of another version is passed over: events explain figures, no figure is made of them.
std::vector<EventRecord> read_events(const std::filesystem::path& run);

}  // namespace tandem

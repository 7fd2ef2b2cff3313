#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/comm/communicator.h"
#include "core/telemetry/step_record.h"

namespace tandem {

// What ranks tell each other of a run at its ends, so that no file system needs to be shared. Collective: all
// ranks call it; it blocks the host until `stream` has done it.

/// Every rank's records, by rank.
std::vector<std::vector<StepRecord>> gather_records(std::span<const StepRecord> mine, Communicator& comm,
                                                    Stream& stream);

/// Every rank's text, by rank.
std::vector<std::string> gather_texts(const std::string& mine, Communicator& comm, Stream& stream);

/// Rank 0's text, on every rank.
std::string broadcast_text(const std::string& text, Communicator& comm, Stream& stream);

}  // namespace tandem

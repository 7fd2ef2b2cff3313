#pragma once

#include <string>
#include <vector>

#include "core/telemetry/summary.h"

namespace tandem {

/// What a summary's figures say about the run: one line each, with its numbers and one thing to change.
std::vector<std::string> find_causes(const Summary& summary);

}  // namespace tandem

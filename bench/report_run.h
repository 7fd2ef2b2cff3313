#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/compare.h"

namespace tandem::bench {

/// What the report's page shows of one run: facts, summary, step series, events, and one step in full, the
/// one in the window whose time is nearest the median.
nlohmann::ordered_json run_data(const ComparedRun& run);

}  // namespace tandem::bench

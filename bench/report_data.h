#pragma once

#include <string>
#include <vector>

namespace tandem::bench {

/// What bench/report makes a page of, as JSON: every figure computed here, by the functions that `tandem
/// scaling`, `sweep` and `compare` print from, so that page and tables cannot disagree. Each source is the
/// folder of a run, of a scaling or sweep experiment, or a JSON file of `tandem collectives`. A source that
/// cannot be read is named under "problems", and the rest still reported; throws DataError if none can.
std::string report_data(const std::vector<std::string>& sources);

}  // namespace tandem::bench

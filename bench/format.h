#pragma once

#include <optional>
#include <string>

#include "core/telemetry/statistics.h"

namespace tandem::bench {

// How figures look in tables; "–" is what was not measured.

/// "12.34", or "–".
std::string cell(const std::optional<double>& value, int decimals);
/// "12.34 ± 0.05" with decimals that suit the interval, or "12.34 ± –".
std::string with_interval(double value, const std::optional<Interval>& interval);
/// "93.1 ± 0.4%".
std::string percent_with_interval(double share, const std::optional<Interval>& interval);
/// "0.95–1.02", or "–".
std::string range(const std::optional<Interval>& interval);
/// A number with all its digits for a file of data, empty where not measured.
std::string exact(const std::optional<double>& value);

}  // namespace tandem::bench

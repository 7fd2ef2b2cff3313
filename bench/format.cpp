#include "bench/format.h"

#include <fmt/format.h>

namespace tandem::bench {
namespace {

constexpr const char* kUnmeasured = "–";

/// Decimals that show two figures of `size`, at least one and at most three.
int decimals_for(double size) {
  return size >= 1 ? 1 : size >= 0.1 ? 2 : 3;
}

}  // namespace

std::string cell(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : kUnmeasured;
}

std::string with_interval(double value, const std::optional<Interval>& interval) {
  if (!interval) return fmt::format("{:.{}f} ± {}", value, decimals_for(value / 100), kUnmeasured);
  const int decimals = decimals_for(interval->half_width());
  return fmt::format("{:.{}f} ± {:.{}f}", value, decimals, interval->half_width(), decimals);
}

std::string percent_with_interval(double share, const std::optional<Interval>& interval) {
  if (!interval) return fmt::format("{:.1f} ± {}%", 100 * share, kUnmeasured);
  return fmt::format("{:.1f} ± {:.1f}%", 100 * share, 100 * interval->half_width());
}

std::string range(const std::optional<Interval>& interval) {
  return interval ? fmt::format("{:.3f}–{:.3f}", interval->low, interval->high) : kUnmeasured;
}

std::string exact(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace tandem::bench

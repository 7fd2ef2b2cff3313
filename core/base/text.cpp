#include "core/base/text.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace tandem {

std::string human_bytes(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < kUnits.size()) bytes /= 1024.0, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

std::string human_count(double n) {
  constexpr std::array kUnits = {"", " K", " M", " B", " T"};
  std::size_t unit = 0;
  while (std::abs(n) >= 1000.0 && unit + 1 < kUnits.size()) n /= 1000.0, ++unit;
  return fmt::format("{:.4g}{}", n, kUnits[unit]);
}

std::string human_duration(double seconds) {
  if (seconds < 10.0) return fmt::format("{:.2f} s", seconds);
  const auto s = static_cast<std::int64_t>(std::llround(seconds));
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
}

}  // namespace tandem

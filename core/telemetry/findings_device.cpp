#include <fmt/format.h>

#include "core/telemetry/findings.h"

namespace tandem {

rules::Line rules::data_bound(const Summary& s) {
  constexpr double kBubble = 0.03;
  const RankSummary& rank = s.ranks.at(static_cast<std::size_t>(s.slowest_rank));
  const auto idle = rank.data_bubble_ms ? rank.data_bubble_ms : rank.data_wait_ms;
  if (!idle || *idle <= kBubble * s.step_ms) return std::nullopt;
  return fmt::format(
      "data-bound: compute stands still for input {:.2f} ms a step, {:.1f}% of it. Use more --workers or a "
      "deeper "
      "--prefetch, or make samples cheaper to load",
      *idle, 100 * *idle / s.step_ms);
}

rules::Line rules::launch_bound(const Summary& s) {
  constexpr double kGap = 0.10;
  const auto gap = s.ranks.at(static_cast<std::size_t>(s.slowest_rank)).host_gap_ms;
  if (!gap || *gap <= kGap * s.step_ms) return std::nullopt;
  return fmt::format(
      "launch-bound: the device idles {:.2f} ms a step ({:.0f}%) for want of launches. Use --cuda-graph on, "
      "or a "
      "larger batch",
      *gap, 100 * *gap / s.step_ms);
}

rules::Line rules::clocks(const Summary& s) {
  constexpr double kSpread = 0.03;
  if (!s.clock_spread || *s.clock_spread <= kSpread) return std::nullopt;
  return fmt::format(
      "clocks: the SM clock moves by {:.1f}% within the window. Lock it (nvidia-smi -lgc), and look for "
      "throttling by "
      "heat or power",
      100 * *s.clock_spread);
}

}  // namespace tandem

#include "core/telemetry/findings.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include <fmt/format.h>

namespace tandem {
namespace {

/// Milliseconds a step that the rank that waits longest spends waiting for a peer in collectives.
double longest_wait(const Summary& summary) {
  std::vector<double> waits(summary.ranks.size());
  for (const auto& bucket : summary.buckets)
    for (std::size_t r = 0; r < waits.size(); ++r) waits[r] += bucket.reductions * bucket.wait_ms[r];
  return *std::max_element(waits.begin(), waits.end());
}

/// Milliseconds a step that the collectives take by themselves.
double total_transfer(const Summary& summary) {
  double sum = 0;
  for (const auto& bucket : summary.buckets) sum += bucket.reductions * bucket.transfer_ms;
  return sum;
}

/// One rank that is behind in nearly every step.
std::optional<std::string> straggler(const Summary& summary) {
  constexpr double kSkew = 0.05, kShare = 0.75;
  if (!summary.skew || *summary.skew <= kSkew || *summary.slowest_share <= kShare) return std::nullopt;
  std::vector<double> work;
  for (const auto& rank : summary.ranks) work.push_back(*rank.work_ms);
  const double most = work[static_cast<std::size_t>(summary.slowest_rank)];
  std::erase(work, most);
  const double others = work.empty() ? most : quantile(work, 0.5);
  std::string line = fmt::format(
      "straggler: rank {} works {:.2f} ms a step, the others {:.2f} ms (skew {:.1f}%), and is last in "
      "{:.0f}% "
      "of steps",
      summary.slowest_rank, most, others, 100 * *summary.skew, 100 * *summary.slowest_share);
  if (!summary.buckets.empty())
    line += fmt::format("; its peers wait up to {:.2f} ms for it, transfer takes {:.2f} ms",
                        longest_wait(summary), total_transfer(summary));
  return line + ". Look at what else runs on its cores, at its data, at its clock";
}

}  // namespace

std::vector<std::string> find_causes(const Summary& summary) {
  std::vector<std::string> found;
  if (!summary.window) return found;
  if (auto line = straggler(summary)) found.push_back(*line);
  return found;
}

}  // namespace tandem

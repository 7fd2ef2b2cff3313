#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "core/telemetry/findings.h"

namespace tandem {

namespace {

constexpr double kSkew = 0.05, kStepSkew = 0.10, kShare = 0.75;

/// Milliseconds a step that the rank that waits longest spends waiting for a peer in collectives.
double longest_wait(const Summary& summary) {
  std::vector<double> waits(summary.ranks.size());
  for (const auto& bucket : summary.buckets)
    for (std::size_t r = 0; r < waits.size(); ++r) waits[r] += bucket.reductions * bucket.wait_ms[r];
  return *std::max_element(waits.begin(), waits.end());
}

/// The cores that "0-3,8" lists.
std::set<int> cores_in(std::string list) {
  std::set<int> cores;
  std::replace(list.begin(), list.end(), ',', ' ');
  std::istringstream ranges(list);
  for (std::string range; ranges >> range;) {
    int first = 0, last = 0;
    const int found = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    for (int core = first; found > 0 && core <= (found == 2 ? last : first); ++core) cores.insert(core);
  }
  return cores;
}

}  // namespace

/// One rank that is behind in nearly every step.
rules::Line rules::persistent_straggler(const Summary& s) {
  if (!s.skew || *s.skew <= kSkew || *s.slowest_share <= kShare) return std::nullopt;
  if (s.skew_ci && s.skew_ci->low <= kSkew) return std::nullopt;  // by chance
  std::vector<double> work;
  for (const auto& rank : s.ranks) work.push_back(*rank.work_ms);
  const double most = work[static_cast<std::size_t>(s.slowest_rank)];
  std::erase(work, most);
  const double others = work.empty() ? most : quantile(work, 0.5);
  std::string line = fmt::format(
      "straggler: rank {} works {:.2f} ms a step, the others {:.2f} ms (skew {:.1f}%), and is last in "
      "{:.0f}% "
      "of steps",
      s.slowest_rank, most, others, 100 * *s.skew, 100 * *s.slowest_share);
  if (!s.buckets.empty())
    line += fmt::format("; its peers wait up to {:.2f} ms for it, transfer takes {:.2f} ms", longest_wait(s),
                        total_transfer(s));
  return line + ". Look at what else runs on its cores, at its data, at its clock";
}

/// Always somebody, never the same: each step waits for whoever it is. A single step scatters more than a
/// mean, so this asks for more than a persistent one.
rules::Line rules::random_straggler(const Summary& s) {
  if (!s.step_skew || *s.step_skew <= kStepSkew || *s.slowest_share > kShare) return std::nullopt;
  return fmt::format(
      "random straggler: in three of four steps the slowest rank works over {:.1f}% longer than the others, "
      "and "
      "it is not always the same (rank {} in {:.0f}% of steps). Look for what all hosts share: other jobs on "
      "the "
      "cores, a file system, samples of very different size",
      100 * *s.step_skew, s.slowest_rank, 100 * *s.slowest_share);
}

std::vector<std::string> find_causes(const std::vector<RankPlace>& places, int host_cores,
                                     int compute_threads) {
  std::set<int> used;
  int ranks = 0;
  for (const auto& place : places) {
    if (place.host != places.front().host) continue;
    const auto cores = cores_in(place.cores);
    used.insert(cores.begin(), cores.end());
    ++ranks;
  }
  const int have = static_cast<int>(used.size()), wanted = std::min(host_cores, ranks * compute_threads);
  if (have == 0 || have >= wanted) return {};
  return {
      fmt::format("cores: the {} rank{} of {} may run on {} core{} ({}), to compute with {} thread{} each on "
                  "a host of {} "
                  "cores. Let the launcher bind less (mpirun --bind-to none, or train --ranks)",
                  ranks, ranks == 1 ? "" : "s", places.front().host, have, have == 1 ? "" : "s",
                  places.front().cores, compute_threads, compute_threads == 1 ? "" : "s", host_cores)};
}

}  // namespace tandem

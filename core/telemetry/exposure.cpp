#include "core/telemetry/exposure.h"

#include <algorithm>

namespace tandem {

namespace {

using Ranks = std::vector<std::span<const StepRecord>>;

double overlap(double from_a, double to_a, double from_b, double to_b) {
  return std::max(0.0, std::min(to_a, to_b) - std::max(from_a, from_b));
}

/// Microseconds of step k that rank r's compute stream stood still while a collective had not yet been joined
/// by its last rank: in each one, all but the transfer at its end.
double exposed_wait_us(const Ranks& ranks, std::size_t r, std::size_t k) {
  const auto& buckets = ranks[r][k].buckets;
  double exposed = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    double transfer = buckets[i].end_us - buckets[i].start_us;
    for (const auto& steps : ranks)
      transfer = std::min(transfer, steps[k].buckets[i].end_us - steps[k].buckets[i].start_us);
    for (const auto& wait : buckets)
      exposed +=
          overlap(wait.wait_start_us, wait.wait_end_us, buckets[i].start_us, buckets[i].end_us - transfer);
  }
  return exposed;
}

void split_exposed(Summary& summary, const Ranks& ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    RankSummary& rank = summary.ranks[r];
    double wait_ms = 0, steps = 0;
    for (std::size_t k = 0; k < ranks[r].size(); ++k) {
      if (!has_buckets(ranks, k)) continue;
      wait_ms += exposed_wait_us(ranks, r, k) * 1e-3;
      ++steps;
    }
    if (steps == 0 || !rank.exposed_comm_ms) continue;
    rank.exposed_wait_ms = std::min(wait_ms / steps, *rank.exposed_comm_ms);
    rank.exposed_transfer_ms = *rank.exposed_comm_ms - *rank.exposed_wait_ms;
  }
}

/// The share of a step's bytes that become ready in the last tenth of its last backward; empty where phases
/// or buckets are missing.
std::optional<double> late_bytes(const StepRecord& step) {
  const PhaseSpan* backward = nullptr;
  for (const PhaseSpan& phase : step.phases)
    if (phase.phase == Phase::backward) backward = &phase;
  if (!backward || step.buckets.empty()) return std::nullopt;
  const double late_from = backward->start_us + 0.9 * (backward->end_us - backward->start_us);
  double all = 0, late = 0;
  for (const BucketRecord& bucket : step.buckets) {
    if (bucket.ready_us < backward->start_us) continue;  // of a micro-batch before
    all += static_cast<double>(bucket.bytes);
    if (bucket.ready_us > late_from) late += static_cast<double>(bucket.bytes);
  }
  return all > 0 ? std::optional(late / all) : std::nullopt;
}

void add_late_bytes(Summary& summary, const Ranks& ranks) {
  std::vector<double> shares;
  for (const StepRecord& step : ranks[static_cast<std::size_t>(summary.slowest_rank)])
    if (const auto share = late_bytes(step)) shares.push_back(*share);
  if (!shares.empty()) summary.late_bytes = mean(shares);
}

void add_clock_spread(Summary& summary, const Ranks& ranks) {
  for (const auto& steps : ranks) {
    double low = 0, high = 0;
    for (const StepRecord& step : steps) {
      if (!step.sm_mhz) continue;
      high = std::max(high, *step.sm_mhz);
      low = low == 0 ? *step.sm_mhz : std::min(low, *step.sm_mhz);
    }
    if (high > 0) summary.clock_spread = std::max(summary.clock_spread.value_or(0), (high - low) / high);
  }
}

}  // namespace

bool has_buckets(const Ranks& ranks, std::size_t k) {
  const auto& first = ranks[0][k].buckets;
  const auto same_id = [](const BucketRecord& a, const BucketRecord& b) { return a.id == b.id; };
  return !first.empty() && std::all_of(ranks.begin(), ranks.end(), [&](const auto& steps) {
    return std::equal(first.begin(), first.end(), steps[k].buckets.begin(), steps[k].buckets.end(), same_id);
  });
}

void add_exposure(Summary& summary, const Ranks& ranks) {
  split_exposed(summary, ranks);
  add_late_bytes(summary, ranks);
  add_clock_spread(summary, ranks);
}

}  // namespace tandem

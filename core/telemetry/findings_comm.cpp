#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/text.h"
#include "core/telemetry/findings.h"

namespace tandem {

namespace {

/// Of the rank that the summary's own means are of.
const RankSummary& slowest(const Summary& s) {
  return s.ranks.at(static_cast<std::size_t>(s.slowest_rank));
}

bool communicates(const Summary& s) {
  return s.ranks.size() > 1 && !s.buckets.empty() && slowest(s).exposed_transfer_ms && s.step_ms > 0;
}

/// Waiting for peers, of all that the collectives took: mean over the ranks.
double wait_share(const Summary& s) {
  double wait = 0;
  for (const auto& bucket : s.buckets)
    for (const double ms : bucket.wait_ms)
      wait += bucket.reductions * ms / static_cast<double>(s.ranks.size());
  const double all = wait + rules::total_transfer(s);
  return all > 0 ? wait / all : 0;
}

/// t = alpha + bytes · per_byte over the buckets' least hindered transfers, by Theil and Sen's medians, which
/// some buckets may be far from (on a CPU the first compete with backward for the core). Nothing where one
/// size, or no line, fits them.
struct Latency {
  double alpha_ms, per_byte;
};
std::optional<Latency> fit(const std::vector<BucketSummary>& buckets) {
  constexpr double kScatter = 0.3;  // the median bucket may be that far from the line
  std::vector<double> slopes, rests, errors;
  for (const auto& a : buckets)
    for (const auto& b : buckets)
      if (a.bytes < b.bytes)
        slopes.push_back((b.transfer_low_ms - a.transfer_low_ms) / static_cast<double>(b.bytes - a.bytes));
  if (slopes.empty()) return std::nullopt;
  const double per_byte = std::max(0.0, quantile(slopes, 0.5));
  for (const auto& b : buckets) rests.push_back(b.transfer_low_ms - per_byte * static_cast<double>(b.bytes));
  const Latency line{quantile(rests, 0.5), per_byte};
  if (line.alpha_ms <= 0) return std::nullopt;
  for (const auto& b : buckets)
    errors.push_back(
        std::abs(b.transfer_low_ms / (line.alpha_ms + per_byte * static_cast<double>(b.bytes)) - 1));
  return quantile(errors, 0.5) <= kScatter ? std::optional(line) : std::nullopt;
}

}  // namespace

double rules::total_transfer(const Summary& s) {
  double sum = 0;
  for (const auto& bucket : s.buckets) sum += bucket.reductions * bucket.transfer_ms;
  return sum;
}

/// The link decides. Transfer that hides behind backward costs nothing, so what is exposed counts.
rules::Line rules::transfer_bound(const Summary& s) {
  constexpr double kExposed = 0.20, kWait = 0.25;
  if (!communicates(s)) return std::nullopt;
  const double transfer = total_transfer(s), exposed = *slowest(s).exposed_transfer_ms;
  if (exposed <= kExposed * s.step_ms || wait_share(s) >= kWait) return std::nullopt;
  double bytes = 0;
  for (const auto& bucket : s.buckets) bytes += bucket.reductions * static_cast<double>(bucket.bytes);
  return fmt::format(
      "transfer-bound: moving {} of gradients takes {:.2f} ms, and {:.2f} ms of it, {:.0f}% of the step, are "
      "exposed; waiting for peers is {:.0f}% of communication. A larger batch or --accumulate spreads it "
      "over more "
      "work, a faster link shortens it",
      human_bytes(bytes), transfer, exposed, 100 * exposed / s.step_ms, 100 * wait_share(s));
}

/// Buckets were ready early, there was backward enough to hide them, and they were not hidden.
rules::Line rules::no_overlap(const Summary& s) {
  constexpr double kTransfer = 0.05, kHidden = 0.6, kLate = 0.3;
  if (!communicates(s) || !s.backward_ms || s.late_bytes.value_or(1) > kLate) return std::nullopt;
  const double transfer = total_transfer(s), hidden = transfer - *slowest(s).exposed_transfer_ms;
  const double could = std::min(transfer, *s.backward_ms);
  if (transfer < kTransfer * s.step_ms || hidden >= kHidden * could) return std::nullopt;
  return fmt::format(
      "no overlap: of {:.2f} ms of transfer (backward has room for {:.2f} ms) {:.2f} ms are hidden behind "
      "backward. "
      "Use --overlap, and smaller buckets, so that the first leave earlier",
      transfer, could, std::max(0.0, hidden));
}

/// A bucket that is full only when backward ends has nothing left to hide behind.
rules::Line rules::late_gradients(const Summary& s) {
  constexpr double kLate = 0.3, kExposed = 0.02;
  if (!communicates(s) || s.late_bytes.value_or(0) <= kLate) return std::nullopt;
  const double exposed = *slowest(s).exposed_transfer_ms;
  if (exposed <= kExposed * s.step_ms) return std::nullopt;
  return fmt::format(
      "late gradients: {:.0f}% of the bytes become ready in the last tenth of backward, and {:.2f} ms "
      "({:.0f}% of the "
      "step) of transfer are exposed. Use a smaller --bucket-mb, so that less is left for the end",
      100 * *s.late_bytes, exposed, 100 * exposed / s.step_ms);
}

rules::Line rules::latency_bound_buckets(const Summary& s) {
  constexpr double kMostBytes = 0.5, kCost = 0.02;
  if (!communicates(s)) return std::nullopt;
  const auto line = fit(s.buckets);
  if (!line) return std::nullopt;
  double all = 0, small = 0, reductions = 0;
  for (const auto& b : s.buckets) {
    const double bytes = static_cast<double>(b.bytes);
    all += bytes;
    reductions += b.reductions;
    if (line->per_byte * bytes < line->alpha_ms) small += bytes;
  }
  const double cost = line->alpha_ms * reductions;
  if (small <= kMostBytes * all || s.buckets.size() < 4 || cost <= kCost * s.step_ms) return std::nullopt;
  return fmt::format(
      "latency-bound buckets: {:.0f}% of the bytes lie in buckets whose latency ({:.0f} us) exceeds their "
      "transfer; {} "
      "of them cost {:.2f} ms a step in latency alone. Use a larger --bucket-mb",
      100 * small / all, 1e3 * line->alpha_ms, s.buckets.size(), cost);
}

/// Micro-batches that communicate although only the last one has to.
rules::Line rules::hidden_accumulation(const Summary& s) {
  double reductions = 0;
  for (const auto& b : s.buckets) reductions += b.reductions;
  if (s.ranks.size() < 2 || reductions <= 1.01 * static_cast<double>(s.buckets.size())) return std::nullopt;
  return fmt::format(
      "hidden accumulation cost: {:.0f} all-reduces a step for {} buckets, {:.2f} ms of transfer. Leave "
      "--sync-every-micro-batch out: the last micro-batch's reduction is enough",
      reductions, s.buckets.size(), total_transfer(s));
}

}  // namespace tandem

#include "core/telemetry/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/telemetry/exposure.h"
#include "core/telemetry/findings.h"

namespace tandem {
namespace {

using Steps = std::span<const StepRecord>;
using Ranks = std::vector<Steps>;  // one rank's steps of the window each

constexpr double kDriftLimit = 0.005;
constexpr double kBandwidthFloorMs = 0.020;
constexpr double kEventGapMs = 0.05;  // a step starts where the last one ended: a gap is an event

double wall_ms(Steps steps) {
  double sum = 0;
  for (const auto& s : steps) sum += s.step_ms;
  return sum;
}

/// Mean of `value` over the steps in which it was measured; empty where it never was.
template <class F>
std::optional<double> mean_where_measured(Steps steps, F value) {
  double sum = 0, count = 0;
  for (const StepRecord& step : steps)
    if (const std::optional<double> measured = value(step)) {
      sum += *measured;
      ++count;
    }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<double> mean_of(Steps steps, std::optional<double> StepRecord::*field) {
  return mean_where_measured(steps, [&](const StepRecord& step) { return step.*field; });
}

/// What the other ranks may have to wait for.
std::optional<double> work_ms(const StepRecord& step) {
  return step.exposed_comm_ms ? std::optional(step.step_ms - *step.exposed_comm_ms) : std::nullopt;
}

RankSummary rank_summary(Steps steps) {
  RankSummary rank;
  rank.step_ms = wall_ms(steps) / static_cast<double>(steps.size());
  rank.data_wait_ms = mean_of(steps, &StepRecord::data_wait_ms);
  rank.data_bubble_ms = mean_of(steps, &StepRecord::data_bubble_ms);
  rank.forward_ms = mean_of(steps, &StepRecord::forward_ms);
  rank.backward_ms = mean_of(steps, &StepRecord::backward_ms);
  rank.comm_busy_ms = mean_of(steps, &StepRecord::comm_busy_ms);
  rank.exposed_comm_ms = mean_of(steps, &StepRecord::exposed_comm_ms);
  rank.optimizer_ms = mean_of(steps, &StepRecord::optimizer_ms);
  rank.host_ms = mean_of(steps, &StepRecord::host_ms);
  rank.host_gap_ms = mean_of(steps, &StepRecord::host_gap_ms);
  rank.work_ms = mean_where_measured(steps, work_ms);
  return rank;
}

/// The rank for which `value` is largest, the first of equals.
template <class F>
std::size_t rank_of_most(std::size_t ranks, F value) {
  std::size_t best = 0;
  for (std::size_t r = 1; r < ranks; ++r)
    if (value(r) > value(best)) best = r;
  return best;
}

std::vector<double> step_series(Steps steps) {
  std::vector<double> series(steps.size());
  std::transform(steps.begin(), steps.end(), series.begin(), [](const auto& s) { return s.step_ms; });
  return series;
}

std::vector<double> longest_of_each_step(const Ranks& ranks) {
  std::vector<double> series(ranks[0].size(), 0);
  for (const auto& steps : ranks)
    for (std::size_t k = 0; k < series.size(); ++k) series[k] = std::max(series[k], steps[k].step_ms);
  return series;
}

void add_step_times(Summary& summary, const Ranks& ranks, std::size_t longest) {
  summary.step_ms = summary.ranks[longest].step_ms;
  summary.step_ms_ci = batch_means_interval(step_series(ranks[longest]));
  const auto each = longest_of_each_step(ranks);
  summary.step_ms_median = quantile(each, 0.5);
  summary.step_ms_p90 = quantile(each, 0.9);
  summary.step_ms_p99 = quantile(each, 0.99);
  for (const auto k : outliers(each))
    summary.outlier_steps.push_back(ranks[0][static_cast<std::size_t>(k)].step);
}

void add_throughput(Summary& summary, const Ranks& ranks) {
  std::int64_t samples = 0, tokens = 0;
  for (const auto& steps : ranks)
    for (const auto& s : steps) {
      samples += s.samples;
      tokens += s.tokens;
    }
  const double seconds = summary.step_ms * static_cast<double>(ranks[0].size()) / 1e3;
  summary.samples_per_s = static_cast<double>(samples) / seconds;
  if (tokens > 0) summary.tokens_per_s = static_cast<double>(tokens) / seconds;
}

/// What the work of the others is: for two ranks the other's, else the median.
double base_of(const std::vector<double>& work) {
  return work.size() == 2 ? std::min(work[0], work[1]) : quantile(work, 0.5);
}

double skew_of(const std::vector<double>& work) {
  return *std::max_element(work.begin(), work.end()) / base_of(work) - 1;
}

void add_skew(Summary& summary, const Ranks& ranks, std::size_t longest) {
  const auto& of = summary.ranks;
  summary.slowest_rank = static_cast<int>(longest);
  if (of.size() < 2 || std::any_of(of.begin(), of.end(), [](const auto& r) { return !r.work_ms; })) return;

  std::vector<double> work;
  for (const auto& r : of) work.push_back(*r.work_ms);
  const auto slowest = rank_of_most(of.size(), [&](std::size_t r) { return work[r]; });
  const double base = base_of(work);
  summary.slowest_rank = static_cast<int>(slowest);
  summary.skew = skew_of(work);

  double last_in = 0;
  std::vector<double> of_slowest, of_step;  // how far the slowest rank, and each step's last one, is behind
  for (std::size_t k = 0; k < ranks[0].size(); ++k) {
    if (std::any_of(ranks.begin(), ranks.end(), [&](Steps steps) { return !work_ms(steps[k]); })) continue;
    for (std::size_t r = 0; r < of.size(); ++r) work[r] = *work_ms(ranks[r][k]);
    if (rank_of_most(of.size(), [&](std::size_t r) { return work[r]; }) == slowest) ++last_in;
    of_step.push_back(skew_of(work));
    const double mine = std::exchange(work[slowest], std::numeric_limits<double>::infinity());
    of_slowest.push_back((mine - base_of(work)) /
                         base);  // for two ranks the other's work; for more, their median
  }
  if (of_step.empty()) return;
  summary.skew_ci = batch_means_interval(of_slowest);
  summary.step_skew = quantile(of_step, 0.25);
  summary.slowest_share = last_in / static_cast<double>(of_step.size());
}

void add_phases(Summary& summary) {
  const RankSummary& rank = summary.ranks[static_cast<std::size_t>(summary.slowest_rank)];
  summary.data_wait_ms = rank.data_wait_ms;
  summary.data_bubble_ms = rank.data_bubble_ms;
  summary.forward_ms = rank.forward_ms;
  summary.backward_ms = rank.backward_ms;
  summary.comm_busy_ms = rank.comm_busy_ms;
  summary.exposed_comm_ms = rank.exposed_comm_ms;
  summary.optimizer_ms = rank.optimizer_ms;
  summary.host_ms = rank.host_ms;
  if (rank.exposed_comm_ms && rank.comm_busy_ms.value_or(0) > 0)
    summary.overlap_ratio = 1 - *rank.exposed_comm_ms / *rank.comm_busy_ms;
}

/// Adds reduction i of step k to its bucket. Transfer is the shortest duration over ranks (for that clocks
/// need not agree); what a rank took longer it spent waiting for a peer. Returns the transfer.
double add_reduction(BucketSummary& bucket, const Ranks& ranks, std::size_t k, std::size_t i) {
  std::vector<double> duration_ms;
  for (const auto& steps : ranks)
    duration_ms.push_back((steps[k].buckets[i].end_us - steps[k].buckets[i].start_us) / 1e3);
  const double transfer = *std::min_element(duration_ms.begin(), duration_ms.end());
  bucket.transfer_ms += transfer;
  for (std::size_t r = 0; r < ranks.size(); ++r) bucket.wait_ms[r] += duration_ms[r] - transfer;
  ++bucket.reductions;
  return transfer;
}

BucketSummary& bucket_of(const BucketRecord& record, std::vector<BucketSummary>& buckets, std::size_t ranks) {
  const auto found =
      std::find_if(buckets.begin(), buckets.end(), [&](const BucketSummary& b) { return b.id == record.id; });
  if (found != buckets.end()) return *found;
  return buckets.emplace_back(
      BucketSummary{record.id, record.bytes, 0, 0, std::vector<double>(ranks), 0, std::nullopt});
}

/// busbw as nccl-tests define it for an all-reduce: bytes / t · 2(P − 1)/P.
std::optional<double> bus_bandwidth(const BucketSummary& bucket, std::size_t ranks) {
  if (bucket.transfer_ms < kBandwidthFloorMs || ranks < 2) return std::nullopt;
  const double p = static_cast<double>(ranks);
  return static_cast<double>(bucket.bytes) / (bucket.transfer_ms * 1e6) * 2 * (p - 1) / p;
}

void add_buckets(Summary& summary, const Ranks& ranks) {
  double probed_steps = 0;
  std::map<int, std::vector<double>> transfers;  // by bucket
  for (std::size_t k = 0; k < ranks[0].size(); ++k) {
    if (!has_buckets(ranks, k)) continue;
    ++probed_steps;
    for (std::size_t i = 0; i < ranks[0][k].buckets.size(); ++i) {
      BucketSummary& bucket = bucket_of(ranks[0][k].buckets[i], summary.buckets, ranks.size());
      transfers[bucket.id].push_back(add_reduction(bucket, ranks, k, i));
    }
  }
  for (auto& bucket : summary.buckets) {
    bucket.transfer_ms /= bucket.reductions;
    bucket.transfer_low_ms = quantile(transfers[bucket.id], 0.1);
    for (auto& wait : bucket.wait_ms) wait /= bucket.reductions;
    bucket.reductions /= probed_steps;
    bucket.busbw_gb_s = bus_bandwidth(bucket, ranks.size());
  }
}

std::optional<std::int64_t> step_after_event(Steps steps) {
  for (std::size_t k = 1; k < steps.size(); ++k)
    if (steps[k].start_ms - (steps[k - 1].start_ms + steps[k - 1].step_ms) > kEventGapMs)
      return steps[k].step;
  return std::nullopt;
}

double relative_half_width(std::span<const double> series) {
  const auto interval = batch_means_interval(series);
  return interval ? interval->half_width() / mean(series) : 0;
}

/// Why the window is not steady, or nothing. Noise alone makes MSER-5 cut and Theil–Sen rise a little: a cut
/// counts if it moves the mean by more than the limit and more than the mean is known, a drift (whose own
/// scatter is 1.5 times the half-width of the mean's interval) if it exceeds the limit and three half-widths.
std::string why_not_steady(Steps steps, double drift) {
  if (const auto step = step_after_event(steps))
    return fmt::format("an event (evaluation, checkpoint) lies in the window, before step {}", *step);
  const auto series = step_series(steps);
  const auto cut = static_cast<std::size_t>(mser5_truncation(series));
  const auto rest = std::span<const double>(series).subspan(cut);
  const double moved = std::abs(mean(rest) / mean(series) - 1);
  if (moved > std::max(kDriftLimit, relative_half_width(rest)))
    return fmt::format(
        "warm-up reaches into the window: without its first {} steps the mean moves by {:.1f}%", cut,
        100 * moved);
  if (std::abs(drift) > std::max(kDriftLimit, 3 * relative_half_width(series)))
    return fmt::format("step time drifts by {:+.1f}% over the window", 100 * drift);
  return {};
}

std::optional<Window> choose_window(Summary& summary, std::optional<Window> window_override) {
  if (!window_override) {
    const auto window = stable_window(summary.steps_run);
    if (!window)
      summary.not_steady_because = fmt::format("{} steps are too few for a window", summary.steps_run);
    return window;
  }
  if (window_override->last < summary.steps_run) return window_override;
  summary.not_steady_because = fmt::format("the window {}:{} reaches beyond the {} steps run",
                                           window_override->first, window_override->last, summary.steps_run);
  return std::nullopt;
}

}  // namespace

Summary summarise(const std::vector<std::vector<StepRecord>>& ranks, std::optional<Window> window_override) {
  require(!ranks.empty(), "a summary of no ranks");
  for (const auto& steps : ranks)
    require(steps.size() == ranks[0].size(), "a rank has {} steps, rank 0 has {}", steps.size(),
            ranks[0].size());
  Summary summary;
  summary.steps_run = static_cast<std::int64_t>(ranks[0].size());
  summary.window = choose_window(summary, window_override);
  if (!summary.window) return summary;

  Ranks window;
  for (const auto& steps : ranks)
    window.push_back(Steps(steps).subspan(static_cast<std::size_t>(summary.window->first),
                                          static_cast<std::size_t>(summary.window->steps())));
  for (const auto& steps : window) summary.ranks.push_back(rank_summary(steps));
  const auto longest = rank_of_most(window.size(), [&](std::size_t r) { return summary.ranks[r].step_ms; });
  add_step_times(summary, window, longest);
  add_throughput(summary, window);
  add_skew(summary, window, longest);
  add_phases(summary);
  add_buckets(summary, window);
  add_exposure(summary, window);
  summary.drift = theil_sen_drift(step_series(window[longest]));
  summary.not_steady_because = why_not_steady(window[longest], summary.drift);
  summary.steady = summary.not_steady_because.empty();
  summary.findings = find_causes(summary);
  return summary;
}

}  // namespace tandem

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/statistics.h"
#include "core/telemetry/step_record.h"

namespace tandem {

/// What summary.json says of one bucket, over the window: means over its reductions.
struct BucketSummary {
  int id = 0;
  std::int64_t bytes = 0;
  double reductions = 0;        ///< a step: 1, or K where every micro-batch is synchronised
  double transfer_ms = 0;       ///< the minimum over ranks of the collective's duration
  std::vector<double> wait_ms;  ///< per rank: its duration − transfer
  double transfer_low_ms = 0;   ///< of its transfer times the 10% quantile: hardly hindered by other work
  std::optional<double> busbw_gb_s;  ///< transfer_ms as bus bandwidth, 10^9 bytes/s; null under 20 µs
};

/// One rank's means over the window, in milliseconds a step; what not every step measures (--probe-every),
/// over those that do.
struct RankSummary {
  double step_ms = 0;
  std::optional<double> work_ms;  ///< step − exposed communication: what the others may have to wait for
  std::optional<double> data_wait_ms, data_bubble_ms, forward_ms, backward_ms, comm_busy_ms, exposed_comm_ms,
      optimizer_ms, host_ms;
  std::optional<double> host_gap_ms;
  /// exposed_comm_ms, cut where the last peer had come: before that the rank waited for a peer, after it for
  /// the transfer. Empty where buckets were not probed.
  std::optional<double> exposed_wait_ms, exposed_transfer_ms;
};

/// A run's figures over its stable window, over all ranks (docs/measuring.md). One function computes them,
/// for the end of a run and for `tandem scaling --from` alike. Without a window every figure below it is
/// unmeasured.
struct Summary {
  std::int64_t steps_run = 0;
  std::optional<Window> window;
  double step_ms = 0;  ///< T_P: wall time of the window / steps, on the rank where it is longest. The wall
                       ///< time is the sum of the steps', without the events between them
  std::optional<Interval> step_ms_ci;
  double step_ms_median = 0, step_ms_p90 = 0, step_ms_p99 = 0;  ///< each step: maximum over ranks
  double samples_per_s = 0;
  std::optional<double> tokens_per_s;
  std::vector<RankSummary> ranks;
  /// The rank with the most work_ms (with the longest wall time, where that was not measured). The means that
  /// follow are this rank's: what it spends, all wait for.
  int slowest_rank = 0;
  std::optional<double> data_wait_ms, data_bubble_ms, forward_ms, backward_ms, comm_busy_ms, exposed_comm_ms,
      optimizer_ms, host_ms;
  std::optional<double> overlap_ratio;  ///< 1 − exposed / comm busy
  std::optional<double> skew;           ///< (max − median)/median of work_ms; two ranks: (max − min)/min
  std::optional<double> slowest_share;  ///< share of steps in which slowest_rank had the most work
  /// Of skew, by batch means over the steps; empty in a window of under 20.
  std::optional<Interval> skew_ci;
  std::optional<double> step_skew;     ///< as skew, but of each step; exceeded in three of four steps
  std::optional<double> late_bytes;    ///< share of bytes ready in the last tenth of backward, slowest rank
  std::optional<double> clock_spread;  ///< (highest − lowest)/highest SM clock in the window, any rank
  std::vector<BucketSummary> buckets;  ///< in launch order; empty where not probed
  double drift = 0;                    ///< Theil–Sen, relative, of the longest rank's steps
  std::vector<std::int64_t> outlier_steps;
  bool steady = false;
  std::string not_steady_because;
  std::vector<std::string> findings;  ///< "straggler: rank 1 …": the doctor's lines
};

/// `ranks[r]` are rank r's records, in step order, the same steps on all. `window_override` is --window; one
/// that reaches beyond the steps run gives no window, and not_steady_because says so.
Summary summarise(const std::vector<std::vector<StepRecord>>& ranks, std::optional<Window> window_override);

/// The content of summary.json, null for what was not measured.
std::string to_json(const Summary& summary);

}  // namespace tandem

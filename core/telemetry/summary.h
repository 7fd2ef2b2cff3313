#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/statistics.h"
#include "core/telemetry/step_record.h"

namespace tandem {

/// What summary.json says of one bucket, over the window.
struct BucketSummary {
  int id = 0;
  std::int64_t bytes = 0;
  double transfer_ms = 0;       ///< mean over steps of the minimum over ranks of the collective's duration
  std::vector<double> wait_ms;  ///< per rank: mean of its duration − transfer
  std::optional<double> busbw_gb_s;  ///< null under 20 µs
};

/// A run's figures over its stable window, over all ranks (docs/measuring.md). One function computes them,
/// for the end of a run and for `tandem scaling --from` alike.
struct Summary {
  std::int64_t steps_run = 0;
  std::optional<Window> window;
  double step_ms = 0;  ///< T_P: wall time of the window / steps, on the rank where it is longest
  std::optional<Interval> step_ms_ci;
  double step_ms_median = 0, step_ms_p90 = 0, step_ms_p99 = 0;  ///< each step: maximum over ranks
  double samples_per_s = 0;
  std::optional<double> tokens_per_s;
  std::optional<double> data_wait_ms, forward_ms, backward_ms, comm_busy_ms, exposed_comm_ms, optimizer_ms,
      host_ms;  ///< means, on the slowest rank
  std::optional<double> overlap_ratio;
  std::optional<double> skew;
  int slowest_rank = 0;
  std::vector<BucketSummary> buckets;
  std::vector<std::string> findings;  ///< "straggler: rank 1 …": the doctor's lines
  bool steady = false;
  std::string not_steady_because;
};

/// `ranks[r]` are rank r's records, in step order, the same steps on all. `window_override` is --window.
Summary summarise(const std::vector<std::vector<StepRecord>>& ranks, std::optional<Window> window_override);

}  // namespace tandem

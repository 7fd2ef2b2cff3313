#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tandem {

/// One bucket in one step, in microseconds since the step's start on this rank.
struct BucketRecord {
  int id = 0;
  std::int64_t bytes = 0;
  double ready_us = 0;  ///< its last gradient was written
  double start_us = 0;  ///< its collective began (its turn on the comm stream)
  double end_us = 0;    ///< its collective ended
  double wait_start_us = 0,
         wait_end_us = 0;  ///< the compute stream stood still for it (equal where it did not)
};

/// One step of one rank: a line of steps.rankR.jsonl, under the same names. Milliseconds. What was not
/// measured is empty and written as null, never as 0. Where forward, backward and so on happen K times
/// (accumulation) the sum is meant.
struct StepRecord {
  std::int64_t step = 0;
  double start_ms = 0;  ///< since the start of the first step: step k starts where step k − 1 ended, except
                        ///< for an event between
  double step_ms = 0;   ///< wall time from this step's start to its end
  std::optional<double> host_ms, data_wait_ms, data_bubble_ms, h2d_ms, forward_ms, backward_ms, comm_busy_ms,
      exposed_comm_ms, optimizer_ms, host_gap_ms;
  std::int64_t samples = 0, tokens = 0;  ///< of this rank; tokens 0 where the data has none
  std::optional<double> loss;            ///< mean over the global batch; with --no-comm this rank's own
  std::optional<double> grad_norm, lr, loss_scale, sm_mhz, power_w;
  std::vector<BucketRecord> buckets;
};

}  // namespace tandem

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// The parts of a step. With exposed communication and the rest (host) they tile it.
enum class Phase { data, forward, backward, optimizer };
inline constexpr int kPhases = 4;
inline constexpr std::array<std::string_view, kPhases> kPhaseNames = {"data", "forward", "backward",
                                                                      "optimizer"};

/// One stretch of the compute stream, in microseconds since the step's start. A wait for a collective within
/// it is part of it.
struct PhaseSpan {
  Phase phase = Phase::data;
  double start_us = 0, end_us = 0;
};

/// One reduction of one bucket in one step, in microseconds since the step's start on this rank. A bucket is
/// reduced once a step, K times where every micro-batch is synchronised; a step without communication has
/// none. Ids from the number of buckets on are the step's other collectives (RunFacts::others); a gather of
/// parameters may end in the step after, whose forward waits for it.
struct BucketRecord {
  int id = 0;
  std::int64_t bytes = 0;  ///< on the wire, counted as those of an all-reduce
  double ready_us = 0;     ///< its last gradient was written
  double start_us = 0;     ///< its collective began (its turn on the comm stream)
  double end_us = 0;       ///< its collective ended
  double wait_start_us = 0,
         wait_end_us = 0;            ///< the compute stream stood still for it (equal where it did not)
  std::optional<double> applied_us;  ///< its parameters were updated
};

/// One step of one rank: a line of steps.rankR.jsonl, under the same names. Milliseconds. What was not
/// measured is empty and written as null, never as 0. Where forward, backward and so on happen K times
/// (accumulation) the sum is meant.
///
/// Waits for collectives count as exposed_comm_ms and in no phase, so that on the CPU
/// data_wait + forward + backward + exposed_comm + optimizer + host = step.
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
  std::vector<BucketRecord> buckets;  ///< in launch order
  std::vector<PhaseSpan> phases;      ///< in the order in which they happened
};

/// Something that took time and is not training: a line of events.jsonl.
struct EventRecord {
  std::int64_t step = 0;  ///< the step that it followed or fell into
  std::string kind = {};  ///< checkpoint, evaluation, epoch, log flush, injected fault, interrupted
  std::optional<double> start_ms = {};  ///< on the clock of StepRecord::start_ms
  double duration_ms = 0;
  bool inside_step = false;  ///< part of its step's time; otherwise it lies between two steps
  std::string text = {};     ///< for the reader
};

}  // namespace tandem

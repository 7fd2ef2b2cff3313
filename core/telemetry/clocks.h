#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/comm/communicator.h"

namespace tandem {

/// One ping-pong between rank 0 and another rank: at `at_us` of rank 0's clock the other's showed
/// `at_us + offset_us`, give or take `error_us` (half the round trip). Microseconds of the monotonic clocks.
struct ClockReading {
  double at_us = 0, offset_us = 0, error_us = 0;
};

/// How a rank's log times become times of rank 0's clock: a line of clocks.json.
struct RankClock {
  double first_step_us = 0;            ///< on its own clock: 0 of StepRecord::start_ms
  std::vector<ClockReading> readings;  ///< at the run's start and end
};

/// This rank's monotonic clock, now.
double clock_us();

/// The best of several ping-pongs with each rank, at rank 0, by rank (its own is exact); empty at the others.
/// Collective; blocks the host. `control` and `stream` as in gather.h.
std::vector<ClockReading> read_clocks(Communicator& control, Stream& stream);

/// The content of clocks.json, and back. Empty where the file is missing: the run died, or is of a version
/// that did not write it. Throws DataError where it is damaged.
std::string clocks_json(const std::vector<RankClock>& ranks);
std::vector<RankClock> load_clocks(const std::filesystem::path& path);

/// Puts the logs of several ranks on one time axis, whose 0 is the start of rank 0's first step.
class ClockAlignment {
 public:
  /// Without clocks every rank's axis begins with its own first step.
  explicit ClockAlignment(std::vector<RankClock> ranks = {}) : ranks_(std::move(ranks)) {}

  /// `log_us`: since the rank's first step. Between the two readings the offset is interpolated.
  double common_us(int rank, double log_us) const;
  /// The largest remaining error of any rank; empty without clocks.
  std::optional<double> error_us() const;

 private:
  std::vector<RankClock> ranks_;
};

}  // namespace tandem

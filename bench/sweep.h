#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/measured_run.h"

namespace tandem::bench {

/// One combination of a sweep: what distinguishes it, and its launches in the order of the rounds.
struct SweepPoint {
  double bucket_mb = 25;
  std::int64_t batch = 8;
  bool overlap = true, view = true;
  std::vector<MeasuredRun> launches;

  double step_ms() const;        ///< mean over the launches
  double samples_per_s() const;  ///< samples of all windows / their wall time
  std::optional<Interval> step_ms_ci() const;
};

struct SweepRow {
  SweepPoint point;
  double ratio = 1;  ///< step time over that of the fastest with the same batch
  /// Such that all intervals of the sweep hold together with 95%; empty for the fastest itself, and where
  /// there is one launch.
  std::optional<Interval> ratio_ci;
  std::string verdict;  ///< "best", "best, tied", "no different", "slower"
};

struct SweepReport {
  std::vector<SweepRow> rows;  ///< in the order of the points given
  int ranks = 1;
  std::vector<std::string> notes;
};

/// Compares every point with the fastest of its batch (other batches do other work). "slower" is said only
/// if the interval of the ratio excludes 1, at a confidence that allows for the choice of the fastest and for
/// the number of comparisons. Throws DataError where runs do not compare.
SweepReport compare_points(std::vector<SweepPoint> points);

}  // namespace tandem::bench

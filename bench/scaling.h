#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/group.h"

namespace tandem::bench {

/// weak: the same b (samples per rank) at every P; strong: the same B (samples per step) at every P.
enum class Regime { weak, strong };
std::string_view name_of(Regime regime);

/// A configuration against one of its baselines.
struct Against {
  std::string baseline;
  double speedup = 1;     ///< weak: X_P / X_1; strong: T_1 / T_P
  double efficiency = 1;  ///< speedup / P
  /// Over the pairs of interleaved launches; where these cannot be paired, from the intervals of both sides.
  std::optional<Interval> efficiency_ci;
};

struct ScalingRow {
  Regime regime = Regime::weak;
  Group group;
  std::vector<Against>
      against;  ///< the first is the one that the verdict speaks of; empty for that one itself
  std::string verdict;
};

struct ScalingReport {
  std::vector<ScalingRow> rows;    ///< per regime: the baselines, then by number of ranks
  std::vector<std::string> notes;  ///< what else a reader has to know, a line each
};

/// The scaling efficiency of finished runs, for each of `regimes` that they allow. Throws DataError with the
/// reason where runs do not compare, or where a run has no baseline.
ScalingReport scale(std::vector<MeasuredRun> runs, const std::vector<Regime>& regimes);

}  // namespace tandem::bench

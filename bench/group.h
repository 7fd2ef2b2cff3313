#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/measured_run.h"
#include "core/telemetry/statistics.h"

namespace tandem::bench {

/// What a run is to a scaling experiment. plain, buckets and uncoupled are baselines on one rank.
enum class Role {
  plain,      ///< without DDP
  buckets,    ///< with DDP, whose collectives of one rank do nothing
  uncoupled,  ///< plain, while others like it ran beside it: what sharing memory bandwidth and heat costs
  ddp,        ///< several ranks
};

/// The launches of one configuration, in the order of their rounds.
struct Group {
  Role role = Role::ddp;
  std::vector<MeasuredRun> launches;

  const Run& run() const { return launches[0].run; }
  int side_by_side() const { return launches[0].origin.uncoupled; }
  std::string name() const;

  double step_ms() const;        ///< wall time of all windows / their steps
  double samples_per_s() const;  ///< samples of all windows / their wall time
  /// Between launches; of a single launch within it, by batch means.
  std::optional<Interval> step_ms_ci() const;
  /// Mean over the launches of an optional figure; empty unless all have it.
  std::optional<double> mean_of(std::optional<double> Summary::*figure) const;
  /// One figure per launch.
  std::vector<double> each(double Summary::*figure) const;
};

/// Sorts runs into groups. Of runs side by side the slowest of each round is kept: a coupled run would wait
/// for it. Throws DataError where runs of one group are not alike, or a run does not communicate.
std::vector<Group> group_runs(std::vector<MeasuredRun> runs);

}  // namespace tandem::bench

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/rounds.h"
#include "bench/scaling.h"

namespace tandem::bench {

/// What `tandem scaling` is to launch, as the command line says.
struct ScalingRequest {
  std::vector<int> ranks;  ///< --np
  std::vector<Regime> regimes;
  TrainOptions options;   ///< after "--"
  bool uncoupled = true;  ///< measure runs side by side as well (only a launcher on this host can)
};

struct ScalingPlan {
  std::vector<Configuration> configurations;
  int most_ranks = 1;
  /// Steps of a run, if `tandem` may choose them: the user gave neither --epochs nor --window.
  std::optional<std::int64_t> steps;
};

/// Both baselines and every number of ranks, in each regime; a configuration that two regimes share is
/// launched once. b and B follow from --batch or --global-batch (train's default b is 8): weak scaling keeps
/// b, strong scaling keeps B = b·K·(the largest number of ranks). Throws UsageError.
ScalingPlan plan_scaling(const ScalingRequest& request);

/// The same with runs of `steps` steps, measured over their last four fifths.
void lengthen(ScalingPlan& plan, std::int64_t steps);

}  // namespace tandem::bench

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/scaling.h"

namespace tandem::bench {

/// Where the time went that P ranks take longer than perfect scaling would: T_P − T_1 (weak) or T_P − T_1/P
/// (strong), in milliseconds a step, on the rank whose wall time is longest (docs/measuring.md). The parts
/// and the residual add up to `loss_ms`.
struct Waterfall {
  std::string name, regime, baseline;
  double ideal_ms = 0, step_ms = 0, loss_ms = 0;
  std::vector<std::pair<std::string, double>> parts;
  double residual_ms = 0;  ///< over 1% of T_P it is unexplained
  bool explained() const;
};

/// Of a row with its first baseline; empty where one of the two was not timed part by part.
std::optional<Waterfall> waterfall(const ScalingRow& row, const Group& baseline);

/// Of every row of several ranks.
std::vector<Waterfall> waterfalls(const ScalingReport& report);

}  // namespace tandem::bench

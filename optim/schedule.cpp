#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/error.h"

namespace tandem {

void Schedule::validate() const {
  if (!std::isfinite(lr) || lr < 0)
    throw UsageError("the learning rate is {}: give a finite number, 0 or more", lr);
  if (total_steps < 1) throw UsageError("a schedule over {} steps: give at least 1", total_steps);
  if (warmup_steps < 0 || warmup_steps > total_steps)
    throw UsageError("{} warm-up steps in a run of {}: give 0 to {}", warmup_steps, total_steps, total_steps);
  if (!(final_fraction >= 0 && final_fraction <= 1))
    throw UsageError("the final fraction of the learning rate is {}: give 0 to 1", final_fraction);
}

double Schedule::at(std::int64_t step) const {
  if (step < warmup_steps) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  if (kind == Kind::constant) return lr;

  const std::int64_t peak = std::max<std::int64_t>(warmup_steps - 1, 0);  // the last step at full lr
  if (step <= peak) return lr;
  const double span = static_cast<double>(std::max<std::int64_t>(total_steps - 1 - peak, 1));
  const double progress = std::min(static_cast<double>(step - peak) / span, 1.0);
  const double remaining =
      kind == Kind::linear ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return lr * (final_fraction + (1 - final_fraction) * remaining);
}

}  // namespace tandem

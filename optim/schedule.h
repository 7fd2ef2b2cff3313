#pragma once

#include <cstdint>

namespace tandem {

/// Learning rate as a pure function of the step. Warm-up rises linearly from lr/warmup at step 0 to lr at
/// step warmup − 1; then constant, linearly to `final_fraction`·lr at the last step, or by half a cosine to
/// it.
struct Schedule {
  enum class Kind { constant, linear, cosine } kind = Kind::constant;
  double lr = 1e-3;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;
  double final_fraction = 0;

  double at(std::int64_t step) const;
};

}  // namespace tandem

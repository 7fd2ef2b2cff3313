#pragma once

#include <cstdint>

namespace tandem {

/// Learning rate as a pure function of the step. Warm-up rises linearly from lr/warmup_steps at step 0 to lr
/// at step warmup_steps − 1; from there it stays (constant), falls linearly, or falls by half a cosine, to
/// final_fraction·lr at step total_steps − 1 and after it.
struct Schedule {
  enum class Kind { constant, linear, cosine } kind = Kind::constant;
  double lr = 1e-3;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;
  double final_fraction = 0;  ///< in [0, 1]; unused by constant

  /// Throws UsageError naming the value that makes no sense: a learning rate that is negative or not finite,
  /// negative counts, more warm-up steps than steps, a fraction outside [0, 1].
  void validate() const;

  /// The learning rate of step `step` (from 0).
  double at(std::int64_t step) const;
};

}  // namespace tandem

#pragma once

#include "core/device/context.h"
#include "core/ops/update.h"
#include "core/tensor/arena.h"

namespace tandem {

/// The factor on the loss that keeps the gradients of a short type from underflowing; it grows while
/// gradients stay finite, and shrinks, skipping the step, when they do not. Decided on the device by the norm
/// of the reduced gradients, which is the same on every rank, so that all decide alike.
class LossScale {
 public:
  static constexpr double kInitial = 65536;

  /// Throws UsageError for an initial scale that is not finite or below 1.
  explicit LossScale(Context& context, double initial = kInitial, const ops::LossScaleRule& rule = {});

  const ops::LossScaleRule& rule() const { return rule_; }
  const Tensor& state() const { return state_; }                 ///< ops::LossScaleValue, in device memory
  Tensor scale() const { return state_.slice(ops::kScale, 1); }  ///< [1] f64 of it

 private:
  ops::LossScaleRule rule_;
  Arena memory_;
  Tensor state_;
};

}  // namespace tandem

#pragma once

#include "core/nn/parameter_store.h"
#include "core/ops/update.h"
#include "core/tensor/arena.h"

namespace tandem {

/// ‖gradient‖₂ over all parameters of the store: partial sums over chunks of parameters in fp64, added in
/// definition order, so that the norm does not depend on layout, buckets or ranks. Frozen parameters have no
/// part in it.
class GradientNorm {
 public:
  GradientNorm(Context& context, const ParameterStore& store);

  /// Puts the norm of the gradients that the compute stream has written so far into value(), in the order of
  /// that stream. Allocates nothing.
  void compute();
  const Tensor& value() const { return norm_; }  ///< [1] f64, in device memory

 private:
  Context* context_;
  Tensor grads_;             // [layout.numel()]
  ops::SegmentTable table_;  // all parameters, in definition order
  Arena memory_;
  Tensor sums_, norm_;  // Σ grad² of each chunk; [1]
};

}  // namespace tandem

#pragma once

#include <vector>

#include "core/nn/parameter_store.h"
#include "core/ops/update.h"

namespace tandem {

/// ‖gradient‖₂ over all parameters of the store: partial sums per parameter in fp64, added in definition
/// order, so that the norm does not depend on layout, buckets or ranks. Frozen parameters have no part in it.
class GradientNorm {
 public:
  GradientNorm(Context& context, const ParameterStore& store);

  /// The norm of the gradients that the compute stream has written so far. Allocates nothing.
  double compute();

 private:
  Context* context_;
  Tensor grads_;                        // [layout.numel()]
  std::vector<ops::Segment> segments_;  // one per parameter, in definition order
  std::vector<double> sums_;            // Σ grad² of each segment
};

/// The factor that brings a gradient of this norm to at most `max_norm`: 1 if it is not above it;
/// max_norm/(norm + 1e-6), as PyTorch, else. Throws UsageError unless max_norm is finite and above 0.
double clip_scale(double norm, double max_norm);

}  // namespace tandem

#pragma once

#include "core/nn/parameter_store.h"

namespace tandem {

/// ‖gradient‖₂ over all parameters of the store: partial sums per parameter in fp64, added in definition
/// order, so that the norm does not depend on buckets or ranks.
class GradientNorm {
 public:
  GradientNorm(Context& context, const ParameterStore& store);
  double compute();
};

/// The factor that brings a gradient of this norm to at most `max_norm`: 1 if it is not above it;
/// max_norm/(norm + 1e-6), as PyTorch, else.
double clip_scale(double norm, double max_norm);

}  // namespace tandem

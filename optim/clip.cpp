#include "optim/clip.h"

#include <cmath>

#include "optim/segments.h"

namespace tandem {

GradientNorm::GradientNorm(Context& context, const ParameterStore& store)
    : context_(&context),
      grads_(store.grads()),
      segments_(segments_in_definition_order(store)),
      sums_(segments_.size()) {}

double GradientNorm::compute() {
  ops::sum_of_squares(*context_, segments_, grads_, sums_);
  double total = 0;
  for (double sum : sums_) total += sum;
  return std::sqrt(total);
}

double clip_scale(double norm, double max_norm) {
  if (!std::isfinite(max_norm) || max_norm <= 0)
    throw UsageError("the gradient norm is to be clipped to {}: give a finite number above 0", max_norm);
  return norm > max_norm ? max_norm / (norm + 1e-6) : 1.0;
}

}  // namespace tandem

#include "optim/clip.h"

#include "optim/segments.h"

namespace tandem {

GradientNorm::GradientNorm(Context& context, const ParameterStore& store)
    : context_(&context), grads_(store.grads()), table_(context, segments_in_definition_order(store)) {
  const Shape chunks{std::ssize(table_.chunks())};
  Arena measure;
  measure.allocate(DType::f64, chunks);
  measure.allocate(DType::f64, {1});
  memory_ = Arena(context, measure.peak());
  sums_ = memory_.allocate(DType::f64, chunks);
  norm_ = memory_.allocate(DType::f64, {1});
  memory_.seal();
}

void GradientNorm::compute() {
  ops::gradient_norm(*context_, table_, grads_, sums_, norm_);
}

}  // namespace tandem

#include "optim/clip.h"

#include "optim/segments.h"

namespace tandem {

GradientNorm::GradientNorm(Context& context, const ParameterStore& store)
    : GradientNorm(context, store.grads(), segments_in_definition_order(store)) {}

GradientNorm::GradientNorm(Context& context, const Tensor& grads, const std::vector<ops::Segment>& segments)
    : context_(&context), grads_(grads), table_(context, segments) {
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
  sum_chunks();
  add_sums();
}

void GradientNorm::sum_chunks() {
  ops::sums_of_squares(*context_, table_, grads_, sums_);
}

void GradientNorm::add_sums() {
  ops::norm_of_sums(*context_, sums_, norm_);
}

}  // namespace tandem

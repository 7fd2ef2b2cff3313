#include "optim/optimizer.h"

#include <array>
#include <cmath>

#include "optim/segments.h"

namespace tandem {

Optimizer::Optimizer(Context& context, const ParameterStore& store, double weight_decay, int states)
    : context_(&context),
      values_(store.values()),
      masters_(store.masters()),
      grads_(store.grads()),
      table_(context, segments_by_offset(store, weight_decay)),
      scalars_(context, ops::kScalars) {
  if (states == 0) return;
  const TensorSpec spec = masters_.spec();
  Arena measure;
  for (int i = 0; i < states; ++i) measure.allocate(spec);
  memory_ = Arena(context, measure.peak());
  for (int i = 0; i < states; ++i) state_.push_back(memory_.allocate(spec));
  memory_.seal();
}

void Optimizer::start_step(double lr) {
  std::array<double, ops::kScalars> scalars{};
  scalars[ops::kLearningRate] = lr;
  scalars[ops::kGradScale] = 1;
  scalars[ops::kStep] = static_cast<double>(++steps_);
  scalars_.send(scalars);
}

void Optimizer::clip(const GradientNorm& norm, double max_norm) {
  check_clip(max_norm);
  ops::clip_scale(*context_, norm.value(), max_norm, scalars());
}

void Optimizer::unscale(const GradientNorm& norm, const LossScale& loss_scale) {
  ops::unscale(*context_, loss_scale.rule(), norm.value(), loss_scale.state(), scalars());
}

void Optimizer::update_slice(std::int64_t offset, std::int64_t numel) {
  require(steps_ > 0, "update_slice() before start_step()");
  update(chunks_within(table_, offset, numel));
}

void Optimizer::update_all() {
  update_slice(0, values_.numel());
}

std::int64_t Optimizer::state_bytes() const {
  std::int64_t bytes = 0;
  for (const Tensor& state : state_) bytes += state.bytes();
  return bytes;
}

void check_clip(double max_norm) {
  if (!std::isfinite(max_norm) || max_norm <= 0)
    throw UsageError("the gradient norm is to be clipped to {}: give a finite number above 0", max_norm);
}

}  // namespace tandem

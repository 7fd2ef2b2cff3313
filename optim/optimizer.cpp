#include "optim/optimizer.h"

#include "optim/segments.h"

namespace tandem {

Optimizer::Optimizer(Context& context, const ParameterStore& store, double weight_decay, int states)
    : context_(&context),
      values_(store.values()),
      grads_(store.grads()),
      segments_(segments_by_offset(store, weight_decay)) {
  if (states == 0) return;
  Arena measure;
  for (int i = 0; i < states; ++i) measure.allocate(values_.spec());
  memory_ = Arena(context, measure.peak());
  for (int i = 0; i < states; ++i) state_.push_back(memory_.allocate(values_.spec()));
  memory_.seal();
}

void Optimizer::start_step(double lr, double grad_scale) {
  ++steps_;
  lr_ = lr;
  grad_scale_ = grad_scale;
}

void Optimizer::update_slice(std::int64_t offset, std::int64_t numel) {
  require(steps_ > 0, "update_slice() before start_step()");
  update(segments_within(segments_, offset, numel));
}

void Optimizer::update_all() {
  update_slice(0, values_.numel());
}

std::int64_t Optimizer::state_bytes() const {
  std::int64_t bytes = 0;
  for (const Tensor& state : state_) bytes += state.bytes();
  return bytes;
}

}  // namespace tandem

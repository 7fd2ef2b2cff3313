#include "optim/optimizer.h"

#include <array>
#include <cmath>

#include "optim/segments.h"

namespace tandem {

Optimizer::Optimizer(Context& context, const ParameterStore& store, double weight_decay, int states,
                     std::span<const LayoutRange> owned)
    : context_(&context), scalars_(context, ops::kScalars) {
  const LayoutRange whole{0, store.layout().numel()};
  if (owned.empty()) owned = {&whole, 1};
  for (const LayoutRange& range : owned) {
    const auto slice = [&](const Tensor& flat) { return flat.slice(range.offset, range.numel); };
    parts_.push_back({range,
                      ops::SegmentTable(context, segments_by_offset(store, weight_decay, range)),
                      {slice(store.values()), slice(store.masters()), slice(store.grads()), {}}});
    state_bytes_ += states * parts_.back().flat.masters.bytes();
  }

  Arena measure;
  bind_state(measure, states);
  memory_ = Arena(context, measure.peak());
  bind_state(memory_, states);
  memory_.seal();
}

void Optimizer::bind_state(Arena& arena, int states) {
  for (Part& part : parts_)
    for (int i = 0; i < states; ++i) part.flat.state.at(i) = arena.allocate(part.flat.masters.spec());
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
  for (const Part& part : parts_) {
    LayoutRange slice = LayoutRange{offset, numel}.within(part.range);
    if (slice.numel == 0) continue;
    slice.offset -= part.range.offset;
    update(part.flat, chunks_within(part.table, slice));
  }
}

void Optimizer::update_all() {
  for (const Part& part : parts_) update_slice(part.range.offset, part.range.numel);
}

void check_clip(double max_norm) {
  if (!std::isfinite(max_norm) || max_norm <= 0)
    throw UsageError("the gradient norm is to be clipped to {}: give a finite number above 0", max_norm);
}

}  // namespace tandem

#pragma once

#include <utility>

#include "core/nn/parameter_store.h"
#include "models/loss.h"

namespace tandem {

/// A module with parameters, memory and a loss, ready to run: what a training program sets up.
class PlannedModel {
 public:
  PlannedModel(Module& module, const TensorSpec& input, std::uint64_t seed = 1)
      : module_(module),
        store_(ParameterStore::allocate(context_, ParameterLayout::in_order(module.parameters()),
                                        module.parameters())) {
    store_.initialize(seed);
    Arena measure_saved, measure_scratch;
    plan(measure_saved, measure_scratch, input);
    saved_ = Arena(context_, measure_saved.peak());
    scratch_ = Arena(context_, measure_scratch.peak());
    plan(saved_, scratch_, input);
    saved_.seal();
    scratch_.seal();
  }

  Tensor forward(const Tensor& x) { return module_.forward(context_, x); }

  /// One micro-batch; the loss, a mean over the targets.
  double step(const Tensor& x, const Tensor& targets, GradientSink& sink) {
    const Tensor logits = forward(x);
    loss_.forward_backward(context_, logits, targets, 1.0 / static_cast<double>(targets.numel()));
    module_.backward(context_, logits, sink);
    return loss_.loss_sum() / static_cast<double>(targets.numel());
  }

  Context& context() { return context_; }
  ParameterStore& store() { return store_; }
  const Arena& saved() const { return saved_; }
  const Arena& scratch() const { return scratch_; }

 private:
  void plan(Arena& saved, Arena& scratch, const TensorSpec& input) {
    MemoryPlan memory{context_, saved, scratch};
    module_.plan(memory, input);
    loss_.plan(memory);
  }

  Context context_ = Context::cpu();
  Module& module_;
  ParameterStore store_;
  Arena saved_, scratch_;
  CrossEntropyLoss loss_;
};

}  // namespace tandem

#pragma once

#include <optional>

#include "core/nn/module.h"
#include "core/nn/parameter_store.h"
#include "core/tensor/planned_memory.h"
#include "models/loss.h"

namespace tandem {

/// A module with parameters, memory and a loss, ready to run: what a training program sets up.
class PlannedModel {
 public:
  PlannedModel(Module& module, const TensorSpec& input, std::uint64_t seed = 1)
      : module_(module),
        store_(ParameterStore::allocate(context_, ParameterLayout::in_order(module.parameters()),
                                        module.parameters())) {
    store_.initialize(context_, seed);
    memory_.emplace(context_, [&](MemoryPlan& memory) { module_.plan(memory, input); });
  }

  Tensor forward(const Tensor& x) { return module_.forward(context_, x); }

  /// One micro-batch; the loss, a mean over the targets.
  double step(const Tensor& x, const Tensor& targets, GradientSink& sink) {
    const Tensor logits = forward(x);
    loss_.set_seed(1.0 / static_cast<double>(targets.numel()));
    loss_.forward_backward(logits, targets);
    module_.backward(context_, logits, sink);
    return loss_.read().loss_sum / static_cast<double>(targets.numel());
  }

  Context& context() { return context_; }
  ParameterStore& store() { return store_; }

 private:
  Context context_ = Context::cpu();
  Module& module_;
  ParameterStore store_;
  std::optional<PlannedMemory> memory_;
  CrossEntropyLoss loss_{context_};
};

}  // namespace tandem

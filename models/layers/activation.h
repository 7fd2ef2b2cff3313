#pragma once

#include "core/nn/module.h"
#include "core/ops/activation.h"

namespace tandem {

/// y = f(x), element-wise, f being ReLU or (tanh-)GELU. Backward works in place: it returns dy's memory.
class Activation final : public Module {
 public:
  explicit Activation(ops::Activation function) : function_(function) {}

  /// Before plan: the input's memory is to hold the output where f's derivative can be had from it (ReLU).
  /// For a caller whose input nobody reads again: a linear layer's output, say.
  void set_in_place(bool allowed) { in_place_ = allowed && function_ == ops::Activation::relu; }

  ParameterList parameters() override { return {}; }
  TensorSpec plan(MemoryPlan& memory, const TensorSpec& input) override;
  Tensor forward(Context& context, const Tensor& x) override;
  Tensor backward(Context& context, const Tensor& dy, GradientSink& sink) override;

 private:
  ops::Activation function_;
  bool in_place_ = false;
  Tensor x_, y_;  // x_: a view of the last input
};

}  // namespace tandem

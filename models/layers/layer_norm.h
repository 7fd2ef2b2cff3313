#pragma once

#include <string>

#include "core/nn/module.h"

namespace tandem {

/// y = (x − mean) / √(variance + ε) · weight + bias over the last dimension; x, y [.., width].
class LayerNorm final : public Module {
 public:
  /// Parameters `name`.weight (ones) and `name`.bias (zeros), neither of which decays.
  LayerNorm(const std::string& name, std::int64_t width);

  ParameterList parameters() override { return {&weight_, &bias_}; }
  TensorSpec plan(MemoryPlan& memory, const TensorSpec& input) override;
  Tensor forward(Context& context, const Tensor& x) override;
  Tensor backward(Context& context, const Tensor& dy, GradientSink& sink) override;

  /// For residual streams: dx (+)= the gradient of the input, in the caller's memory. dx may be dy when
  /// assigning. After set_input_gradient(false) plan() reserves none.
  void backward_into(Context& context, const Tensor& dy, const Tensor& dx, Write write, GradientSink& sink);

 private:
  Parameter weight_, bias_;  // [width]
  Tensor x_;                 // [.., width], a view of the last input
  Tensor y_, mean_, rstd_;   // [.., width], [rows], [rows]
  Tensor dx_;
};

}  // namespace tandem

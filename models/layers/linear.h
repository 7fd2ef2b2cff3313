#pragma once

#include <string>

#include "core/nn/module.h"

namespace tandem {

/// y [.., out] = x [.., in] · Wᵀ + b, W [out, in] as PyTorch stores it.
class Linear final : public Module {
 public:
  /// Parameters `name`.weight and `name`.bias; the bias is left out of weight decay.
  Linear(const std::string& name, std::int64_t in, std::int64_t out, Init weight, Init bias);
  /// PyTorch's start of nn.Linear: weight and bias uniform in ±1/√in.
  Linear(const std::string& name, std::int64_t in, std::int64_t out);

  ParameterList parameters() override { return {&weight_, &bias_}; }
  TensorSpec plan(MemoryPlan& memory, const TensorSpec& input) override;
  Tensor forward(Context& context, const Tensor& x) override;
  Tensor backward(Context& context, const Tensor& dy, GradientSink& sink) override;

  // For modules that place tensors themselves (residual streams). Where only backward's is placed, plan() is
  // called after set_input_gradient(false), and reserves no memory for it; where both are, it is not called.

  /// y = the layer's output + addend, which may be empty or y; keeps a view of x for backward.
  void forward_into(Context& context, const Tensor& x, const Tensor& addend, const Tensor& y);
  /// pre = the layer's output, y = gelu(pre).
  void forward_gelu_into(Context& context, const Tensor& x, const Tensor& pre, const Tensor& y);
  /// Parameter gradients from dy, which stays as it is, and dx (+)= the gradient of x; an empty dx is left
  /// out.
  void backward_into(Context& context, const Tensor& dy, const Tensor& dx, Write write, GradientSink& sink);
  /// The same where x = gelu(pre): dpre = the gradient of pre.
  void backward_gelu_into(Context& context, const Tensor& dy, const Tensor& pre, const Tensor& dpre,
                          GradientSink& sink);
  /// The shape and dtype of the output.
  TensorSpec output(const TensorSpec& input) const;

 private:
  void backward_parameters(Context& context, const Tensor& dy, GradientSink& sink);

  Parameter weight_;  // [out, in]
  Parameter bias_;    // [out]
  Tensor x_;          // [.., in], a view of the last input
  Tensor y_, dx_;
};

}  // namespace tandem

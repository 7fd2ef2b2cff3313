#include "models/layers/activation.h"

namespace tandem {

TensorSpec Activation::plan(MemoryPlan& memory, const TensorSpec& input) {
  y_ = in_place_ ? Tensor() : memory.saved.allocate(input);
  return input;
}

Tensor Activation::forward(Context& context, const Tensor& x) {
  x_ = x;
  const Tensor& y = in_place_ ? x_ : y_;
  ops::activation_forward(context, function_, x, y);
  return y;
}

Tensor Activation::backward(Context& context, const Tensor& dy, GradientSink&) {
  ops::activation_backward(context, function_, x_, dy, dy);
  return dy;
}

}  // namespace tandem

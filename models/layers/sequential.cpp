#include "models/layers/sequential.h"

namespace tandem {

TensorSpec Sequential::plan(MemoryPlan& memory, const TensorSpec& input) {
  require(!modules_.empty(), "a Sequential without modules cannot be planned");
  modules_.front()->set_input_gradient(input_gradient_);
  TensorSpec spec = input;
  for (const auto& module : modules_) spec = module->plan(memory, spec);
  return spec;
}

Tensor Sequential::forward(Context& context, const Tensor& x) {
  Tensor y = x;
  for (const auto& module : modules_) y = module->forward(context, y);
  return y;
}

Tensor Sequential::backward(Context& context, const Tensor& dy, GradientSink& sink) {
  Tensor d = dy;
  for (auto module = modules_.rbegin(); module != modules_.rend(); ++module)
    d = (*module)->backward(context, d, sink);
  return d;
}

}  // namespace tandem

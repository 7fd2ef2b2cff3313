#include "models/layers/layer_norm.h"

#include "core/ops/layer_norm.h"

namespace tandem {

LayerNorm::LayerNorm(const std::string& name, std::int64_t width)
    : weight_(name + ".weight", {width}, Init::ones(), /*decay=*/false),
      bias_(name + ".bias", {width}, Init::zeros(), /*decay=*/false) {}

TensorSpec LayerNorm::plan(MemoryPlan& memory, const TensorSpec& input) {
  require(input.dtype == weight_.dtype && input.shape.rank() >= 1 && input.shape.last() == weight_.numel(),
          "{} {} does not take an input of {} {}", weight_.name, weight_.shape.str(), name_of(input.dtype),
          input.shape.str());
  y_ = memory.saved.allocate(input);
  mean_ = memory.saved.allocate(accumulator_of(input.dtype), {input.shape.rows()});
  rstd_ = memory.saved.allocate(accumulator_of(input.dtype), {input.shape.rows()});
  dx_ = input_gradient_ ? memory.saved.allocate(input) : Tensor();
  return input;
}

Tensor LayerNorm::forward(Context& context, const Tensor& x) {
  x_ = x;
  ops::layer_norm_forward(context, x, weight_.read(), bias_.read(), y_, mean_, rstd_);
  return y_;
}

Tensor LayerNorm::backward(Context& context, const Tensor& dy, GradientSink& sink) {
  backward_into(context, dy, dx_, Write::assign, sink);
  return dx_;
}

void LayerNorm::backward_into(Context& context, const Tensor& dy, const Tensor& dx, Write write,
                              GradientSink& sink) {
  const auto gradient = [](Parameter& p) {
    return p.frozen ? ops::GradientOut{} : ops::GradientOut{p.grad, p.next_grad_write()};
  };
  ops::layer_norm_backward(context, dy, x_, weight_.value, mean_, rstd_, {dx, write}, gradient(weight_),
                           gradient(bias_));
  if (!weight_.frozen) sink.ready(weight_);
  if (!bias_.frozen) sink.ready(bias_);
}

}  // namespace tandem

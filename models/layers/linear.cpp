#include "models/layers/linear.h"

#include <cmath>

#include "core/ops/linear.h"

namespace tandem {

Linear::Linear(const std::string& name, std::int64_t in, std::int64_t out, Init weight, Init bias)
    : weight_(name + ".weight", {out, in}, weight, /*decay=*/true),
      bias_(name + ".bias", {out}, bias, /*decay=*/false) {}

Linear::Linear(const std::string& name, std::int64_t in, std::int64_t out)
    : Linear(name, in, out, Init::uniform(1 / std::sqrt(static_cast<double>(in))),
             Init::uniform(1 / std::sqrt(static_cast<double>(in)))) {}

TensorSpec Linear::output(const TensorSpec& input) const {
  require(input.dtype == weight_.dtype && input.shape.rank() >= 1 && input.shape.last() == weight_.shape[1],
          "{} {} does not take an input of {} {}", weight_.name, weight_.shape.str(), name_of(input.dtype),
          input.shape.str());
  return {input.dtype, input.shape.with_last(weight_.shape[0])};
}

TensorSpec Linear::plan(MemoryPlan& memory, const TensorSpec& input) {
  y_ = memory.saved.allocate(output(input));
  dx_ = input_gradient_ ? memory.saved.allocate(input) : Tensor();
  return y_.spec();
}

Tensor Linear::forward(Context& context, const Tensor& x) {
  forward_into(context, x, /*addend=*/{}, y_);
  return y_;
}

Tensor Linear::backward(Context& context, const Tensor& dy, GradientSink& sink) {
  backward_into(context, dy, dx_, Write::assign, sink);
  return dx_;
}

void Linear::forward_into(Context& context, const Tensor& x, const Tensor& addend, const Tensor& y) {
  x_ = x;
  ops::linear_forward(context, x, weight_.read(), bias_.read(), addend, y);
}

void Linear::forward_gelu_into(Context& context, const Tensor& x, const Tensor& pre, const Tensor& y) {
  x_ = x;
  ops::linear_gelu_forward(context, x, weight_.read(), bias_.read(), pre, y);
}

void Linear::backward_into(Context& context, const Tensor& dy, const Tensor& dx, Write write,
                           GradientSink& sink) {
  backward_parameters(context, dy, sink);
  if (dx) ops::linear_backward_input(context, dy, weight_.value, dx, write);
}

void Linear::backward_gelu_into(Context& context, const Tensor& dy, const Tensor& pre, const Tensor& dpre,
                                GradientSink& sink) {
  backward_parameters(context, dy, sink);
  ops::linear_gelu_backward_input(context, dy, weight_.value, pre, dpre);
}

void Linear::backward_parameters(Context& context, const Tensor& dy, GradientSink& sink) {
  if (!weight_.frozen) {
    ops::linear_backward_weight(context, dy, x_, weight_.grad, weight_.next_grad_write());
    sink.ready(weight_);
  }
  if (!bias_.frozen) {
    ops::linear_backward_bias(context, dy, bias_.grad, bias_.next_grad_write());
    sink.ready(bias_);
  }
}

}  // namespace tandem

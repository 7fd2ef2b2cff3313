#include "core/ops/linear.h"

#include "core/ops/op_table.h"

namespace tandem::ops {

namespace {

void check(const Tensor& input, const Tensor& output, const Tensor& weight) {
  require(output.rows() == input.rows() && weight.shape() == Shape{output.last(), input.last()},
          "linear: input {}, output {} and weight {} do not fit", input.shape().str(), output.shape().str(),
          weight.shape().str());
  require(input.dtype() == output.dtype(), "linear: input is {}, output {}", name_of(input.dtype()),
          name_of(output.dtype()));
}

void check_forward(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& y) {
  check(x, y, weight);
  require(weight.dtype() == x.dtype(), "linear: input is {}, weight {}", name_of(x.dtype()),
          name_of(weight.dtype()));
  require(!bias || (bias.shape() == Shape{y.last()} && bias.dtype() == x.dtype()),
          "linear: bias {} {} for {} outputs", name_of(bias.dtype()), bias.shape().str(), y.last());
}

void check_same(const Tensor& a, const Tensor& b, const char* what) {
  require(a.rows() == b.rows() && a.last() == b.last() && a.dtype() == b.dtype(),
          "linear: {} {} {} for {} {}", what, name_of(a.dtype()), a.shape().str(), name_of(b.dtype()),
          b.shape().str());
}

/// Parameter gradients may be f32 beside a shorter type.
void check_gradient(const Tensor& dy, const Tensor& gradient) {
  require(gradient.dtype() == dy.dtype() || gradient.dtype() == DType::f32,
          "linear: a parameter gradient of {} for outputs of {}", name_of(gradient.dtype()),
          name_of(dy.dtype()));
}

}  // namespace

void linear_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                    const Tensor& addend, const Tensor& y) {
  check_forward(x, weight, bias, y);
  if (addend) check_same(addend, y, "addend");
  table_of(context).linear_forward(context, x, weight, bias, addend, y);
}

void linear_gelu_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Tensor& pre, const Tensor& y) {
  check_forward(x, weight, bias, y);
  check_same(pre, y, "pre-activation");
  table_of(context).linear_gelu_forward(context, x, weight, bias, pre, y);
}

void linear_backward_input(Context& context, const Tensor& dy, const Tensor& weight, const Tensor& dx,
                           Write write) {
  check_forward(dx, weight, {}, dy);
  table_of(context).linear_backward_input(context, dy, weight, dx, write);
}

void linear_gelu_backward_input(Context& context, const Tensor& dy, const Tensor& weight, const Tensor& pre,
                                const Tensor& dpre) {
  check_forward(dpre, weight, {}, dy);
  check_same(pre, dpre, "pre-activation");
  table_of(context).linear_gelu_backward_input(context, dy, weight, pre, dpre);
}

void linear_backward_weight(Context& context, const Tensor& dy, const Tensor& x, const Tensor& dweight,
                            Write write) {
  check(x, dy, dweight);
  check_gradient(dy, dweight);
  table_of(context).linear_backward_weight(context, dy, x, dweight, write);
}

void linear_backward_bias(Context& context, const Tensor& dy, const Tensor& dbias, Write write) {
  require(dbias.shape() == Shape{dy.last()}, "linear: bias gradient {} for {} outputs", dbias.shape().str(),
          dy.last());
  check_gradient(dy, dbias);
  table_of(context).linear_backward_bias(context, dy, dbias, write);
}

}  // namespace tandem::ops

#include "core/ops/layer_norm.h"

#include "core/ops/op_table.h"

namespace tandem::ops {

namespace {

void check_rows(const Tensor& x, const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  require(
      x.rows() == y.rows() && x.last() == y.last() && mean.numel() == x.rows() && rstd.numel() == x.rows(),
      "layer norm: {} and {} with mean {} and rstd {} do not fit", x.shape().str(), y.shape().str(),
      mean.shape().str(), rstd.shape().str());
  require(x.dtype() == y.dtype() && mean.dtype() == accumulator_of(x.dtype()) && rstd.dtype() == mean.dtype(),
          "layer norm: {} and {} with mean {} and rstd {}", name_of(x.dtype()), name_of(y.dtype()),
          name_of(mean.dtype()), name_of(rstd.dtype()));
}

void check_columns(const Tensor& x, const Tensor& parameter) {
  require(!parameter || parameter.shape() == Shape{x.last()}, "layer norm: parameter {} for rows of {}",
          parameter.shape().str(), x.last());
}

void check_parameter(const Tensor& x, const Tensor& parameter) {
  require(parameter && parameter.dtype() == x.dtype(), "layer norm: parameter {} {} for rows of {}",
          name_of(parameter.dtype()), parameter.shape().str(), name_of(x.dtype()));
  check_columns(x, parameter);
}

void check_gradient(const Tensor& x, const Tensor& gradient) {
  check_columns(x, gradient);
  require(!gradient || gradient.dtype() == x.dtype() || gradient.dtype() == DType::f32,
          "layer norm: a parameter gradient of {} for rows of {}", name_of(gradient.dtype()),
          name_of(x.dtype()));
}

}  // namespace

void layer_norm_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  check_rows(x, y, mean, rstd);
  check_parameter(x, weight);
  check_parameter(x, bias);
  table_of(context).layer_norm_forward(context, x, weight, bias, y, mean, rstd);
}

void layer_norm_backward(Context& context, const Tensor& dy, const Tensor& x, const Tensor& weight,
                         const Tensor& mean, const Tensor& rstd, const GradientOut& dx,
                         const GradientOut& dweight, const GradientOut& dbias) {
  check_rows(x, dy, mean, rstd);
  if (dx.grad) check_rows(x, dx.grad, mean, rstd);
  check_parameter(x, weight);
  check_gradient(x, dweight.grad);
  check_gradient(x, dbias.grad);
  table_of(context).layer_norm_backward(context, dy, x, weight, mean, rstd, dx, dweight, dbias);
}

}  // namespace tandem::ops

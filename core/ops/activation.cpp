#include "core/ops/activation.h"

#include "core/ops/op_table.h"

namespace tandem::ops {

namespace {

void check_same(const Tensor& a, const Tensor& b) {
  require(a.numel() == b.numel() && a.dtype() == b.dtype(), "activation: {} {} and {} {} do not fit",
          name_of(a.dtype()), a.shape().str(), name_of(b.dtype()), b.shape().str());
}

}  // namespace

std::string_view name_of(Activation activation) {
  return activation == Activation::relu ? "relu" : "gelu";
}

void activation_forward(Context& context, Activation activation, const Tensor& x, const Tensor& y) {
  check_same(x, y);
  table_of(context).activation_forward(context, activation, x, y);
}

void activation_backward(Context& context, Activation activation, const Tensor& x, const Tensor& dy,
                         const Tensor& dx) {
  check_same(x, dy);
  check_same(x, dx);
  table_of(context).activation_backward(context, activation, x, dy, dx);
}

}  // namespace tandem::ops

#include <cstring>

#include "core/ops/cpu/column_sums.h"
#include "core/ops/cpu/cpu_ops.h"
#include "core/ops/cpu/gemm.h"

namespace tandem::ops::cpu {

void linear_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                    const Tensor& addend, const Tensor& y) {
  if (addend && addend.data() != y.data())
    std::memcpy(y.data(), addend.data(), static_cast<std::size_t>(y.bytes()));
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    gemm(context, x.rows(), y.last(), x.last(), row_major(x.as<T>(), x.last()),
         row_major(weight.as<T>(), x.last()).transposed(), y.as<T>(), y.last(),
         addend ? Write::add : Write::assign, bias ? bias.as<T>() : nullptr);
  });
}

void linear_gelu_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Tensor& pre, const Tensor& y) {
  linear_forward(context, x, weight, bias, {}, pre);
  cpu::activation_forward(context, Activation::gelu, pre, y);
}

void linear_backward_input(Context& context, const Tensor& dy, const Tensor& weight, const Tensor& dx,
                           Write write) {
  visit_floating(dy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    gemm(context, dy.rows(), dx.last(), dy.last(), row_major(dy.as<T>(), dy.last()),
         row_major(weight.as<T>(), dx.last()), dx.as<T>(), dx.last(), write);
  });
}

void linear_gelu_backward_input(Context& context, const Tensor& dy, const Tensor& weight, const Tensor& pre,
                                const Tensor& dpre) {
  linear_backward_input(context, dy, weight, dpre, Write::assign);
  cpu::activation_backward(context, Activation::gelu, pre, dpre, dpre);
}

void linear_backward_weight(Context& context, const Tensor& dy, const Tensor& x, const Tensor& dweight,
                            Write write) {
  visit_floating(dy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    gemm(context, dy.last(), x.last(), dy.rows(), row_major(dy.as<T>(), dy.last()).transposed(),
         row_major(x.as<T>(), x.last()), dweight.as<T>(), x.last(), write);
  });
}

void linear_backward_bias(Context& context, const Tensor& dy, const Tensor& dbias, Write write) {
  const std::int64_t out = dy.last();
  visit_floating(dy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* gradient = dy.as<T>();
    column_sums(
        context, dy.rows(), out, [=](std::int64_t row, std::int64_t j) { return gradient[row * out + j]; },
        dbias.as<T>(), write);
  });
}

}  // namespace tandem::ops::cpu

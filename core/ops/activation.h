#pragma once

#include <string_view>

#include "core/device/context.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

enum class Activation {
  relu,
  gelu
};  ///< gelu: the tanh approximation, x/2 · (1 + tanh(√(2/π)(x + 0.044715 x³))) (Hendrycks & Gimpel 2016)

std::string_view name_of(Activation activation);

/// y = f(x), element-wise. In place (y = x) is allowed for relu alone, whose backward can do with y.
void activation_forward(Context& context, Activation activation, const Tensor& x, const Tensor& y);

/// dx = dy · f'(x); dx may be dy. For relu, `x` may be the output.
void activation_backward(Context& context, Activation activation, const Tensor& x, const Tensor& dy,
                         const Tensor& dx);

}  // namespace tandem::ops

#pragma once

#include "core/device/context.h"
#include "core/ops/write.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

// A linear layer. x, y and their gradients may have any leading dimensions; they are seen as matrices [rows,
// in] and [rows, out]. f32 and f64; all tensors of a call have one dtype. Outputs must not overlap inputs.

/// y [rows, out] (+)= x [rows, in] · Wᵀ [in, out] + bias [out]. An empty `bias` is left out.
void linear_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                    const Tensor& y, Write write = Write::assign);

/// dx [rows, in] (+)= dy [rows, out] · W [out, in]
void linear_backward_input(Context& context, const Tensor& dy, const Tensor& weight, const Tensor& dx,
                           Write write = Write::assign);

/// dW [out, in] (+)= dyᵀ [out, rows] · x [rows, in]
void linear_backward_weight(Context& context, const Tensor& dy, const Tensor& x, const Tensor& dweight,
                            Write write);

/// dbias [out] (+)= column sums of dy [rows, out]
void linear_backward_bias(Context& context, const Tensor& dy, const Tensor& dbias, Write write);

}  // namespace tandem::ops

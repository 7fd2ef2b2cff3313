#pragma once

#include "core/device/context.h"
#include "core/ops/write.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

// A linear layer. x, y and their gradients may have any leading dimensions; they are seen as matrices [rows,
// in] and [rows, out]. All tensors of a call have one dtype (f32, f64 on the CPU, bf16, f16 on a GPU), but
// for parameter gradients, which may be f32 beside bf16 or f16. Outputs must not overlap inputs unless it is
// said.

/// y [rows, out] = x [rows, in] · Wᵀ [in, out] + bias [out] + addend [rows, out]. An empty bias or addend is
/// left out; the addend may be y.
void linear_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                    const Tensor& addend, const Tensor& y);

/// A linear layer and the GELU after it: pre = x · Wᵀ + bias, y = gelu(pre), both [rows, out].
void linear_gelu_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                         const Tensor& pre, const Tensor& y);

/// dx [rows, in] (+)= dy [rows, out] · W [out, in]
void linear_backward_input(Context& context, const Tensor& dy, const Tensor& weight, const Tensor& dx,
                           Write write = Write::assign);

/// Through a linear layer and the GELU before it: dpre [rows, in] = (dy [rows, out] · W [out, in]) ∘
/// gelu′(pre [rows, in]).
void linear_gelu_backward_input(Context& context, const Tensor& dy, const Tensor& weight, const Tensor& pre,
                                const Tensor& dpre);

/// dW [out, in] (+)= dyᵀ [out, rows] · x [rows, in]
void linear_backward_weight(Context& context, const Tensor& dy, const Tensor& x, const Tensor& dweight,
                            Write write);

/// dbias [out] (+)= column sums of dy [rows, out]
void linear_backward_bias(Context& context, const Tensor& dy, const Tensor& dbias, Write write);

}  // namespace tandem::ops

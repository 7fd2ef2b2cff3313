#pragma once

#include "core/device/context.h"
#include "core/ops/write.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

inline constexpr double kLayerNormEpsilon = 1e-5;  // as GPT-2 and PyTorch

/// y = (x − mean) · rstd · weight + bias over the last dimension. Saves mean and rstd [rows] for backward.
/// (Ba et al. 2016.) x, y [rows, C]; weight, bias [C]; mean and rstd are f64 beside f64, else f32.
void layer_norm_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Tensor& y, const Tensor& mean, const Tensor& rstd);

/// A gradient and how it is written. An empty tensor (a frozen parameter's) is left out.
struct GradientOut {
  Tensor grad;
  Write write = Write::assign;
};

/// dx [rows, C] (+)= gradient of the input; dx may be dy when assigning. dweight [C] (+)= Σ_rows dy · x̂,
/// dbias [C] (+)= Σ_rows dy; they may be f32 beside bf16 or f16.
void layer_norm_backward(Context& context, const Tensor& dy, const Tensor& x, const Tensor& weight,
                         const Tensor& mean, const Tensor& rstd, const GradientOut& dx,
                         const GradientOut& dweight, const GradientOut& dbias);

}  // namespace tandem::ops

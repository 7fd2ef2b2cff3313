#pragma once

#include "core/device/context.h"
#include "core/ops/write.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

inline constexpr double kLayerNormEpsilon = 1e-5;  // as GPT-2 and PyTorch

/// y = (x − mean) · rstd · weight + bias over the last dimension. Saves mean and rstd [rows] for backward.
/// (Ba et al. 2016.) x, y [rows, C]; weight, bias [C].
void layer_norm_forward(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Tensor& y, const Tensor& mean, const Tensor& rstd);

/// dx (+)= gradient of the input. dx may be dy when assigning.
void layer_norm_backward_input(Context& context, const Tensor& dy, const Tensor& x, const Tensor& weight,
                               const Tensor& mean, const Tensor& rstd, const Tensor& dx, Write write);

/// dweight [C] (+)= Σ_rows dy · x̂, dbias [C] (+)= Σ_rows dy. An empty tensor (a frozen parameter's gradient)
/// is left out.
void layer_norm_backward_parameters(Context& context, const Tensor& dy, const Tensor& x, const Tensor& mean,
                                    const Tensor& rstd, const Tensor& dweight, Write weight_write,
                                    const Tensor& dbias, Write bias_write);

}  // namespace tandem::ops

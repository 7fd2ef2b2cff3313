#pragma once

#include "core/device/context.h"
#include "core/tensor/tensor.h"

namespace tandem::ops::cuda {

/// y [rows, out] += bias [out], where no product's epilogue could.
void add_bias(Context& context, const Tensor& bias, const Tensor& y);

}  // namespace tandem::ops::cuda

#pragma once

#include "core/device/context.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

/// y[i] += factor · x[i]; one dtype, the same number of elements.
void axpy(Context& context, double factor, const Tensor& x, const Tensor& y);

}  // namespace tandem::ops

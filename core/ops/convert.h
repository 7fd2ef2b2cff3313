#pragma once

#include "core/device/context.h"
#include "core/ops/write.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

/// to[i] = from[i], rounded to nearest even: between f32 and any floating type of the device.
void convert(Context& context, const Tensor& from, const Tensor& to);

/// to [1] f64 (+)= factor [1] f64 · value [1] f64
void add_scaled(Context& context, const Tensor& factor, const Tensor& value, const Tensor& to, Write write);

}  // namespace tandem::ops

#pragma once

#include "core/device/context.h"
#include "core/ops/write.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

/// to[i] = factor · from[i], rounded to nearest even: between any floating types of the device (f32, bf16,
/// f16; on the CPU f64 too).
void convert(Context& context, const Tensor& from, const Tensor& to, float factor = 1);

/// to [1] f64 (+)= factor [1] f64 · value [1] f64
void add_scaled(Context& context, const Tensor& factor, const Tensor& value, const Tensor& to, Write write);

}  // namespace tandem::ops

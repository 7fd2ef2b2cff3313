#pragma once

#include "core/device/context.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

/// Makes the columns of a matrix [rows, columns] (f32; on the CPU f64 too; columns ≤ rows) orthonormal, in
/// place: Gram–Schmidt, twice, which is enough (Giraud et al. 2005), with dot products in fp64. A column that
/// depends on those before it becomes some direction beside them. The same bits wherever it is computed on
/// one kind of device.
void orthonormalize(Context& context, const Tensor& matrix);

}  // namespace tandem::ops

#pragma once

#include "core/device/stream.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// Copies the elements of `from` to `to` in the order of `stream`. Both have one dtype and the same number of
/// elements, and do not overlap; their shapes may differ. Throws ContractError otherwise.
void copy(Stream& stream, const Tensor& from, const Tensor& to);

}  // namespace tandem

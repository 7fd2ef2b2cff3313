#pragma once

#include <cstdint>

#include "core/nn/parameter.h"

namespace tandem {

/// Fills `values` (host memory, numel() of f32 or f64) as the parameter's Init says. Element i depends on
/// (seed, name, i) alone.
void draw_initial_value(const Parameter& parameter, std::uint64_t seed, const Tensor& values);

}  // namespace tandem

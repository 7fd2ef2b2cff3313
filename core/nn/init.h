#pragma once

#include <cstdint>

#include "core/nn/parameter.h"

namespace tandem {

/// Fills `parameter.value` as its Init says. Element i depends on (seed, name, i) alone.
void draw_initial_value(const Parameter& parameter, std::uint64_t seed);

}  // namespace tandem

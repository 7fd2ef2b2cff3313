#pragma once

#include <optional>

#include "core/device/context.h"
#include "examples/train/options.h"

namespace tandem::train {

/// Floating-point operations a second that this GPU reaches in one large matrix product of the run's
/// precision: what could be had at most, as this GPU is today. Takes some tenths of a second, and memory that
/// is free again afterwards. Empty on the CPU, and where the GPU has not that much memory left.
std::optional<double> measure_product_rate(Context& context, const Options& options);

}  // namespace tandem::train

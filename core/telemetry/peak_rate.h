#pragma once

#include <optional>
#include <string_view>

namespace tandem {

/// The most floating-point operations a second that a GPU does in dense matrix products, by its maker's data
/// sheet; empty for a GPU or precision that the table does not have. `gpu`: as the driver names it ("NVIDIA
/// H200"). `precision`: fp32, tf32, bf16 or fp16 (the last two with sums in fp32).
std::optional<double> peak_flops(std::string_view gpu, std::string_view precision);

}  // namespace tandem

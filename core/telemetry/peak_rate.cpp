#include "core/telemetry/peak_rate.h"

#include <array>

namespace tandem {

namespace {

/// TFLOP/s, dense, at boost clock; 0: not supported. Sources: NVIDIA's data sheets and architecture white
/// papers (V100, A100, Ada, Hopper, Blackwell), 2017 to 2025.
struct Peak {
  std::string_view name;  // part of the driver's name for it; the first that fits counts
  double fp32, tf32, half;
  bool bf16 = true;
};

constexpr std::array kPeaks = {
    Peak{"B200", 75, 1125, 2250},      Peak{"H200", 66.9, 494.7, 989.4},  Peak{"H100 PCIe", 51.2, 378, 756},
    Peak{"H100 NVL", 60, 417.5, 835},  Peak{"H100", 66.9, 494.7, 989.4},  Peak{"H800", 66.9, 494.7, 989.4},
    Peak{"GH200", 66.9, 494.7, 989.4}, Peak{"A100", 19.5, 155.9, 311.9},  Peak{"A800", 19.5, 155.9, 311.9},
    Peak{"A40", 37.4, 74.8, 149.7},    Peak{"A10", 31.2, 62.5, 125},      Peak{"L40S", 91.6, 183, 362},
    Peak{"L40", 90.5, 90.5, 181},      Peak{"L4", 30.3, 60, 121},         Peak{"RTX 4090", 82.6, 82.6, 165.2},
    Peak{"RTX 3090", 35.6, 35.6, 71},  Peak{"V100", 15.7, 0, 125, false}, Peak{"Tesla T4", 8.1, 0, 65, false},
};

}  // namespace

std::optional<double> peak_flops(std::string_view gpu, std::string_view precision) {
  for (const Peak& peak : kPeaks) {
    if (gpu.find(peak.name) == gpu.npos) continue;
    const double tera = precision == "fp32"                ? peak.fp32
                        : precision == "tf32"              ? peak.tf32
                        : precision == "fp16" || peak.bf16 ? peak.half
                                                           : 0;
    return tera > 0 ? std::optional(tera * 1e12) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace tandem

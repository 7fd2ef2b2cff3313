#pragma once

#include <cstdint>
#include <vector>

#include "core/ops/activation.h"
#include "models/layers/sequential.h"

namespace tandem {

struct MlpConfig {
  std::vector<std::int64_t> sizes = {784, 1024, 1024, 10};  ///< input, hidden layers, output; at least two
  ops::Activation activation = ops::Activation::relu;       ///< between layers, not after the last

  bool operator==(const MlpConfig&) const = default;
};

/// A multi-layer perceptron: x [B, sizes.front()] → [B, sizes.back()]. Linear layers named layers.0,
/// layers.1, …, started as PyTorch starts nn.Linear.
class Mlp final : public Sequential {
 public:
  explicit Mlp(const MlpConfig& config);
};

}  // namespace tandem

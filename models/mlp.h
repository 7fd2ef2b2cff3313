#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/nn/module.h"
#include "models/layers/activation.h"
#include "models/layers/linear.h"

namespace tandem {

struct MlpConfig {
  std::vector<std::int64_t> sizes = {784, 1024, 1024, 10};  ///< input, hidden layers, output; at least two
  ops::Activation activation = ops::Activation::relu;       ///< between layers, not after the last

  bool operator==(const MlpConfig&) const = default;
};

/// A multi-layer perceptron: x [B, sizes.front()] → [B, sizes.back()]. Linear layers named layers.0,
/// layers.1, …, started as PyTorch starts nn.Linear.
class Mlp final : public Module {
 public:
  explicit Mlp(const MlpConfig& config);

  ParameterList parameters() override { return parameters_of(layers_); }
  TensorSpec plan(MemoryPlan& memory, const TensorSpec& input) override;
  Tensor forward(Context& context, const Tensor& x) override;
  Tensor backward(Context& context, const Tensor& dy, GradientSink& sink) override;

 private:
  std::vector<std::unique_ptr<Module>> layers_;  // linear, activation, linear, …, linear
};

}  // namespace tandem

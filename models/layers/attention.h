#pragma once

#include "core/nn/module.h"

namespace tandem {

/// Causal multi-head attention on packed projections: x [B, T, 3·width] = q, k, v → y [B, T, width], heads
/// concatenated. Has no parameters; the projections before and after it are linear layers.
class CausalAttention final : public Module {
 public:
  /// `heads` must divide the width.
  explicit CausalAttention(std::int64_t heads) : heads_(heads) {}

  ParameterList parameters() override { return {}; }
  TensorSpec plan(MemoryPlan& memory, const TensorSpec& input) override;
  Tensor forward(Context& context, const Tensor& qkv) override;
  Tensor backward(Context& context, const Tensor& dy, GradientSink& sink) override;

  /// For a caller that places dqkv [B, T, 3·width] itself, after set_input_gradient(false).
  void backward_into(Context& context, const Tensor& dy, const Tensor& dqkv);

 private:
  std::int64_t heads_;
  Tensor qkv_;      // [B, T, 3·width], a view of the last input
  Tensor y_, lse_;  // [B, T, width]; [B, heads, T] log-sum-exp of each row of scores
  Tensor dqkv_, work_;
};

}  // namespace tandem

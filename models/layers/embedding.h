#pragma once

#include <string>

#include "core/nn/module.h"

namespace tandem {

/// y [B, T, width] = table[ids [B, T]] + positions[0 … T): token and learned position embedding.
class Embedding final : public Module {
 public:
  /// Parameters `table_name`.weight [vocabulary, width] and `position_name`.weight [sequence, width]. Both
  /// decay, as every matrix does.
  Embedding(const std::string& table_name, const std::string& position_name, std::int64_t vocabulary,
            std::int64_t sequence, std::int64_t width, Init init);

  ParameterList parameters() override { return {&table_, &positions_}; }
  /// ids i32 in [0, vocabulary), T ≤ sequence.
  TensorSpec plan(MemoryPlan& memory, const TensorSpec& input) override;
  Tensor forward(Context& context, const Tensor& ids) override;
  /// Returns an empty tensor: ids have no gradient.
  Tensor backward(Context& context, const Tensor& dy, GradientSink& sink) override;

  /// The token table, for a head that is tied to it (which then sets its `uses`).
  Parameter& table() { return table_; }

 private:
  Parameter table_;      // [vocabulary, width]
  Parameter positions_;  // [sequence, width]
  Tensor ids_;           // [B, T], a view of the last input
  Tensor y_;             // [B, T, width]
};

}  // namespace tandem

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/nn/module.h"
#include "models/layers/block.h"
#include "models/layers/embedding.h"

namespace tandem {

struct GptConfig {
  std::int64_t layers = 4;
  std::int64_t width = 256;
  std::int64_t heads = 4;  ///< must divide the width
  std::int64_t vocabulary = 256;
  std::int64_t sequence = 128;  ///< the longest input: rows of the position table
  Recompute recompute = Recompute::none;

  /// Rows of the token table and columns of the logits: a large vocabulary is filled up to a multiple of 128,
  /// as matrix products with odd sizes are slow. The loss leaves the padding out (llm.c does the same).
  std::int64_t padded_vocabulary() const {
    return vocabulary < 1024 ? vocabulary : (vocabulary + 127) / 128 * 128;
  }

  bool operator==(const GptConfig&) const = default;
};

/// GPT-2 (Radford et al. 2019): ids [B, T] i32 → logits [B, T, padded vocabulary]. Pre-norm blocks, learned
/// positions, tanh-GELU, biases, a final norm, and a head that is the token table.
///
/// Parameters bear GPT-2's names (wte.weight, wpe.weight, h.0.ln_1.weight, …, ln_f.weight); matrices are
/// [out, in], as PyTorch's nn.Linear has them (GPT-2's checkpoints store them transposed). Start: matrices
/// and embeddings normal 0.02, projections onto the residual stream 0.02/√(2·layers), biases 0, gains 1.
/// Weight decay takes every matrix, the embeddings among them, and leaves out norms and biases.
class Gpt final : public Module {
 public:
  explicit Gpt(const GptConfig& config);

  ParameterList parameters() override;
  TensorSpec plan(MemoryPlan& memory, const TensorSpec& input) override;
  Tensor forward(Context& context, const Tensor& ids) override;
  /// Takes the gradient of the logits. The tied table's gradient is written twice: by the head, first of all,
  /// and by the embedding, last of all.
  Tensor backward(Context& context, const Tensor& dlogits, GradientSink& sink) override;

 private:
  Embedding embedding_;
  std::vector<std::unique_ptr<Block>> blocks_;
  LayerNorm ln_f_;
  Tensor normed_;    // [B, T, width], a view of the final norm's output
  Tensor logits_;    // [B, T, padded vocabulary]
  Tensor d_stream_;  // [B, T, width], the gradient of the residual stream: one for all blocks
};

}  // namespace tandem

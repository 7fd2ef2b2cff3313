#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

// Causal self-attention on packed projections: qkv [B, T, 3C] holds q, k, v of all heads one after the other,
// each [heads, C/heads]. y = softmax(q·kᵀ/√d, causal)·v [B, T, C], heads concatenated. `lse` [B, heads, T]
// keeps each row's log-sum-exp, from which backward recomputes the probabilities instead of saving them (Dao
// et al. 2022, FlashAttention); it is f64 beside f64, else f32.

/// Bytes of scratch (u8) that forward and backward need for a qkv of this shape.
std::int64_t attention_scratch(const Context& context, const TensorSpec& qkv, std::int64_t heads);

void attention_forward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                       const Tensor& lse, const Tensor& scratch);

/// dqkv [B, T, 3C] = gradient of qkv, given y and dy [B, T, C].
void attention_backward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                        const Tensor& lse, const Tensor& dy, const Tensor& dqkv, const Tensor& scratch);

}  // namespace tandem::ops

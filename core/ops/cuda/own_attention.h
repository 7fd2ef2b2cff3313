#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/tensor/tensor.h"

namespace tandem::ops::cuda {

// Causal attention by kernels of our own, as attention.h says: in f32, bf16 and f16, for heads of at most 128
// elements. All arithmetic is in float, without tensor cores, so it serves f32 and where cuDNN is absent.

/// Bytes that backward needs. Throws ContractError if the heads are too large.
std::int64_t own_attention_scratch(const TensorSpec& qkv, std::int64_t heads);

void own_attention_forward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                           const Tensor& lse);

void own_attention_backward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                            const Tensor& lse, const Tensor& dy, const Tensor& dqkv, const Tensor& scratch);

}  // namespace tandem::ops::cuda

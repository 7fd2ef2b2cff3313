#pragma once

#include <cstdint>
#include <string>

#include "core/device/context.h"
#include "core/tensor/tensor.h"

namespace tandem::ops::cuda {

// Causal attention by cuDNN, as attention.h says. cuDNN is loaded when it is first asked for, so a program
// starts without it; a build without cudnn-frontend's headers has the same functions in ../no_cudnn_frontend,
// which offer nothing.

/// True if cuDNN 9 was found.
bool cudnn_attention_available();
/// "9.14.0"; empty where it was not found.
std::string cudnn_version();

/// True if cuDNN serves this shape and type here. The first question about a shape builds its plans: a second
/// or so.
bool cudnn_attends(const Context& context, const TensorSpec& qkv, std::int64_t heads);

// For what cudnn_attends():

/// Bytes of workspace, the same for forward and backward.
std::int64_t cudnn_attention_scratch(const Context& context, const TensorSpec& qkv, std::int64_t heads);

void cudnn_attention_forward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                             const Tensor& lse, const Tensor& scratch);

void cudnn_attention_backward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                              const Tensor& lse, const Tensor& dy, const Tensor& dqkv, const Tensor& scratch);

}  // namespace tandem::ops::cuda

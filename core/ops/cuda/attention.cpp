#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/cudnn_attention.h"
#include "core/ops/cuda/own_attention.h"

// cuDNN where it serves the shape (bf16 and f16), else our own. Both define lse alike.

namespace tandem::ops::cuda {

std::int64_t attention_scratch(const Context& context, const TensorSpec& qkv, std::int64_t heads) {
  require(heads > 0 && qkv.shape.rank() == 3 && qkv.shape.last() % (3 * heads) == 0,
          "attention: qkv {} does not fit {} heads", qkv.shape.str(), heads);
  if (qkv.shape.numel() == 0) return 0;
  return cudnn_attends(context, qkv, heads) ? cudnn_attention_scratch(context, qkv, heads)
                                            : own_attention_scratch(qkv, heads);
}

void attention_forward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                       const Tensor& lse, const Tensor& scratch) {
  if (qkv.numel() == 0) return;
  if (cudnn_attends(context, qkv.spec(), heads))
    cudnn_attention_forward(context, qkv, heads, y, lse, scratch);
  else
    own_attention_forward(context, qkv, heads, y, lse);
}

void attention_backward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                        const Tensor& lse, const Tensor& dy, const Tensor& dqkv, const Tensor& scratch) {
  if (qkv.numel() == 0) return;
  if (cudnn_attends(context, qkv.spec(), heads))
    cudnn_attention_backward(context, qkv, heads, y, lse, dy, dqkv, scratch);
  else
    own_attention_backward(context, qkv, heads, y, lse, dy, dqkv, scratch);
}

}  // namespace tandem::ops::cuda

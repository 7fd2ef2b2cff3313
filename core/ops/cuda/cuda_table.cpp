#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/op_table.h"

namespace tandem::ops {

const OpTable& cuda_table() {
  static constexpr OpTable table{
      .linear_forward = cuda::linear_forward,
      .linear_gelu_forward = cuda::linear_gelu_forward,
      .linear_backward_input = cuda::linear_backward_input,
      .linear_gelu_backward_input = cuda::linear_gelu_backward_input,
      .linear_backward_weight = cuda::linear_backward_weight,
      .linear_backward_bias = cuda::linear_backward_bias,
      .activation_forward = cuda::activation_forward,
      .activation_backward = cuda::activation_backward,
      .layer_norm_forward = cuda::layer_norm_forward,
      .layer_norm_backward = cuda::layer_norm_backward,
      .attention_scratch = cuda::attention_scratch,
      .attention_forward = cuda::attention_forward,
      .attention_backward = cuda::attention_backward,
      .embedding_forward = cuda::embedding_forward,
      .embedding_backward_table = cuda::embedding_backward_table,
      .embedding_backward_positions = cuda::embedding_backward_positions,
      .cross_entropy_forward = cuda::cross_entropy_forward,
      .cross_entropy_forward_backward = cuda::cross_entropy_forward_backward,
      .sgd_update = cuda::sgd_update,
      .adamw_update = cuda::adamw_update,
      .gradient_norm = cuda::gradient_norm,
      .clip_scale = cuda::clip_scale,
      .convert = cuda::convert,
      .add_scaled = cuda::add_scaled,
      .set_tuning = cuda::set_tuning,
      .tuned_algorithms = cuda::tuned_algorithms,
      .use_algorithms = cuda::use_algorithms,
  };
  return table;
}

}  // namespace tandem::ops

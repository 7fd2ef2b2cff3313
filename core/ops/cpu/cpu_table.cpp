#include "core/ops/cpu/cpu_ops.h"
#include "core/ops/op_table.h"

namespace tandem::ops {

const OpTable& cpu_table() {
  static constexpr OpTable table{
      .linear_forward = cpu::linear_forward,
      .linear_gelu_forward = cpu::linear_gelu_forward,
      .linear_backward_input = cpu::linear_backward_input,
      .linear_gelu_backward_input = cpu::linear_gelu_backward_input,
      .linear_backward_weight = cpu::linear_backward_weight,
      .linear_backward_bias = cpu::linear_backward_bias,
      .activation_forward = cpu::activation_forward,
      .activation_backward = cpu::activation_backward,
      .layer_norm_forward = cpu::layer_norm_forward,
      .layer_norm_backward = cpu::layer_norm_backward,
      .attention_scratch = cpu::attention_scratch,
      .attention_forward = cpu::attention_forward,
      .attention_backward = cpu::attention_backward,
      .embedding_forward = cpu::embedding_forward,
      .embedding_backward_table = cpu::embedding_backward_table,
      .embedding_backward_positions = cpu::embedding_backward_positions,
      .cross_entropy_forward = cpu::cross_entropy_forward,
      .cross_entropy_forward_backward = cpu::cross_entropy_forward_backward,
      .sgd_update = cpu::sgd_update,
      .adamw_update = cpu::adamw_update,
      .gradient_norm = cpu::gradient_norm,
      .clip_scale = cpu::clip_scale,
      .convert = cpu::convert,
      .add_scaled = cpu::add_scaled,
      .set_tuning = cpu::set_tuning,
      .tuned_algorithms = cpu::tuned_algorithms,
      .use_algorithms = cpu::use_algorithms,
  };
  return table;
}

}  // namespace tandem::ops

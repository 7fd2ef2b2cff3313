#pragma once

#include "core/ops/op_table.h"

/// What stands in the backend's table: declared here, each defined in the file of its operation.
namespace tandem::ops::cpu {

decltype(ops::linear_forward) linear_forward;
decltype(ops::linear_gelu_forward) linear_gelu_forward;
decltype(ops::linear_backward_input) linear_backward_input;
decltype(ops::linear_gelu_backward_input) linear_gelu_backward_input;
decltype(ops::linear_backward_weight) linear_backward_weight;
decltype(ops::linear_backward_bias) linear_backward_bias;
decltype(ops::activation_forward) activation_forward;
decltype(ops::activation_backward) activation_backward;
decltype(ops::layer_norm_forward) layer_norm_forward;
decltype(ops::layer_norm_backward) layer_norm_backward;
decltype(ops::attention_scratch) attention_scratch;
decltype(ops::attention_forward) attention_forward;
decltype(ops::attention_backward) attention_backward;
decltype(ops::embedding_forward) embedding_forward;
decltype(ops::embedding_backward_table) embedding_backward_table;
decltype(ops::embedding_backward_positions) embedding_backward_positions;
decltype(ops::cross_entropy_forward) cross_entropy_forward;
decltype(ops::cross_entropy_forward_backward) cross_entropy_forward_backward;
decltype(ops::sgd_update) sgd_update;
decltype(ops::adamw_update) adamw_update;
decltype(ops::gradient_norm) gradient_norm;
decltype(ops::clip_scale) clip_scale;
decltype(ops::convert) convert;
decltype(ops::add_scaled) add_scaled;
decltype(ops::set_tuning) set_tuning;
decltype(ops::tuned_algorithms) tuned_algorithms;
decltype(ops::use_algorithms) use_algorithms;

}  // namespace tandem::ops::cpu

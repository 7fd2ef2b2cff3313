#pragma once

#include "core/ops/activation.h"
#include "core/ops/attention.h"
#include "core/ops/axpy.h"
#include "core/ops/convert.h"
#include "core/ops/cross_entropy.h"
#include "core/ops/embedding.h"
#include "core/ops/layer_norm.h"
#include "core/ops/linear.h"
#include "core/ops/orthonormalize.h"
#include "core/ops/tuning.h"
#include "core/ops/update.h"

/// Every operation that a backend implements, once: the table, a backend's declarations
/// (TANDEM_DECLARE_OPERATION) and its table's entries are made from this list.
#define TANDEM_OPERATIONS(X)        \
  X(linear_forward)                 \
  X(linear_gelu_forward)            \
  X(linear_backward_input)          \
  X(linear_gelu_backward_input)     \
  X(linear_backward_weight)         \
  X(linear_backward_bias)           \
  X(activation_forward)             \
  X(activation_backward)            \
  X(layer_norm_forward)             \
  X(layer_norm_backward)            \
  X(attention_scratch)              \
  X(attention_forward)              \
  X(attention_backward)             \
  X(embedding_forward)              \
  X(embedding_backward_table)       \
  X(embedding_backward_positions)   \
  X(cross_entropy_forward)          \
  X(cross_entropy_forward_backward) \
  X(sgd_update)                     \
  X(adamw_update)                   \
  X(sums_of_squares)                \
  X(norm_of_sums)                   \
  X(clip_scale)                     \
  X(unscale)                        \
  X(axpy)                           \
  X(orthonormalize)                 \
  X(convert)                        \
  X(add_scaled)                     \
  X(set_tuning)                     \
  X(tuned_algorithms)               \
  X(use_algorithms)                 \
  X(library_versions)

/// In a backend's namespace: its function, with the signature of the operation's header.
#define TANDEM_DECLARE_OPERATION(operation) decltype(::tandem::ops::operation) operation;

namespace tandem::ops {

/// What a backend implements: one function for each operation, with the signature of its header. The public
/// functions check their arguments, so these need not, and pass the call on.
struct OpTable {
#define TANDEM_POINTER(operation) decltype(&ops::operation) operation;
  TANDEM_OPERATIONS(TANDEM_POINTER)
#undef TANDEM_POINTER
};

const OpTable& cpu_table();
const OpTable& cuda_table();  ///< in a build without CUDA there is no context that asks for it
const OpTable& dry_table();   ///< does nothing

inline const OpTable& table_of(const Context& context) {
  switch (context.device().kind) {
    case DeviceKind::cuda:
      return cuda_table();
    case DeviceKind::dry:
      return dry_table();
    case DeviceKind::cpu:
      break;
  }
  return cpu_table();
}

}  // namespace tandem::ops

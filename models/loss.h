#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/tensor/arena.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// Softmax cross-entropy over the last dimension of logits [.., classes] against targets [..] i32; −1 marks a
/// row that does not count. Sums, never means: the seed divides.
class CrossEntropyLoss {
 public:
  /// Reserves the two results.
  void plan(MemoryPlan& memory);

  /// Loss and hits alone, for evaluation.
  void forward(Context& context, const Tensor& logits, const Tensor& targets);
  /// Also overwrites the logits with seed · ∂loss_sum/∂logits. `seed` is 1/N: N = the targets that count,
  /// over all ranks and micro-batches of the optimizer step.
  void forward_backward(Context& context, const Tensor& logits, const Tensor& targets, double seed);

  // Of the last call, once the compute stream has got there.

  double loss_sum() const { return *loss_sum_.as<double>(); }  ///< nats
  std::int64_t correct() const {
    return *correct_.as<std::int64_t>();
  }  ///< rows whose largest logit is the target

 private:
  Tensor seed_, loss_sum_, correct_;  // [1] each: f64, f64, i64
};

}  // namespace tandem

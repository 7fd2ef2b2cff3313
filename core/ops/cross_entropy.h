#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

/// Softmax cross-entropy over the first `classes` of the last dimension (the columns after them are padding,
/// whatever they hold). logits [rows, ≥ classes]; targets [rows] i32, −1 for a row that
/// does not count (it contributes exactly 0 to loss and gradient, whatever its logits hold, NaN included).
/// Writes `loss_sum` [1] f64 = Σ over valid rows of −log softmax(logits)[target] (a sum: dividing is the
/// seed's business), and `correct` [1] i64 = number of valid rows whose largest logit (the first, on ties) is
/// the target.
void cross_entropy_forward(Context& context, const Tensor& logits, std::int64_t classes,
                           const Tensor& targets, const Tensor& loss_sum, const Tensor& correct);

/// The same, and overwrites the logits with their gradient: seed · (softmax − onehot), 0 in the padding;
/// `seed` [1] f64 is 1/N (DESIGN: N = valid targets over all ranks and micro-batches), the one division of a
/// step.
void cross_entropy_forward_backward(Context& context, const Tensor& logits, std::int64_t classes,
                                    const Tensor& targets, const Tensor& seed, const Tensor& loss_sum,
                                    const Tensor& correct);

}  // namespace tandem::ops

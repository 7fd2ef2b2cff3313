#pragma once

#include "core/device/context.h"
#include "core/ops/write.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

// ids [B, T] i32 in [0, vocabulary); table [vocabulary, C]; positions [≥ T, C]; y, dy [B, T, C].

/// y[b, t] = table[ids[b, t]] + positions[t]
void embedding_forward(Context& context, const Tensor& ids, const Tensor& table, const Tensor& positions,
                       const Tensor& y);

/// dtable[ids[b, t]] += dy[b, t]; with Write::assign dtable is cleared first. The order of additions is
/// fixed.
void embedding_backward_table(Context& context, const Tensor& ids, const Tensor& dy, const Tensor& dtable,
                              Write write);

/// dpositions[t] (+)= Σ_b dy[b, t]; rows ≥ T are cleared when assigning.
void embedding_backward_positions(Context& context, const Tensor& dy, const Tensor& dpositions, Write write);

}  // namespace tandem::ops

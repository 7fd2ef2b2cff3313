#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/comm/communicator.h"

namespace tandem {

/// accumulator[i] = op(accumulator[i], values[i]) for `count` elements: the arithmetic of every ring. Exists
/// for f32, f64 and i64, and for bf16 and f16, whose every sum is made in float and rounded; throws
/// ContractError for other dtypes. The arrays do not overlap.
void reduce_into(DType dtype, ReduceOp op, void* accumulator, const void* values, std::int64_t count);

/// Checks a collective's arguments, when it is asked for. Throw ContractError.
void require_reducible(const Tensor& buffer);
void require_blocks(const Tensor& buffer, int ranks);
void require_peer(int peer, int ranks);

}  // namespace tandem

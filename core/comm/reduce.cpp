#include "core/comm/reduce.h"

#include <algorithm>

namespace tandem {

namespace {

template <class T>
void reduce(ReduceOp op, T* __restrict accumulator, const T* __restrict values, std::int64_t count) {
  switch (op) {
    case ReduceOp::sum:
      for (std::int64_t i = 0; i < count; ++i) accumulator[i] += values[i];
      break;
    case ReduceOp::min:
      for (std::int64_t i = 0; i < count; ++i) accumulator[i] = std::min(accumulator[i], values[i]);
      break;
    case ReduceOp::max:
      for (std::int64_t i = 0; i < count; ++i) accumulator[i] = std::max(accumulator[i], values[i]);
      break;
  }
}

template <class T>
void reduce(ReduceOp op, void* accumulator, const void* values, std::int64_t count) {
  reduce(op, static_cast<T*>(accumulator), static_cast<const T*>(values), count);
}

}  // namespace

void reduce_into(DType dtype, ReduceOp op, void* accumulator, const void* values, std::int64_t count) {
  if (dtype == DType::f32) return reduce<float>(op, accumulator, values, count);
  if (dtype == DType::f64) return reduce<double>(op, accumulator, values, count);
  if (dtype == DType::i64) return reduce<std::int64_t>(op, accumulator, values, count);
  throw ContractError("the CPU reduces f32, f64 and i64, not {}", name_of(dtype));
}

void require_reducible(const Tensor& buffer) {
  const DType t = buffer.dtype();
  require(t == DType::f32 || t == DType::f64 || t == DType::i64, "the CPU reduces f32, f64 and i64, not {}",
          name_of(t));
}

void require_blocks(const Tensor& buffer, int ranks) {
  require(buffer.numel() % ranks == 0, "{} elements are not {} equal blocks", buffer.numel(), ranks);
}

void require_peer(int peer, int ranks) {
  require(peer >= 0 && peer < ranks, "there is no rank {} among {}", peer, ranks);
}

}  // namespace tandem

#include "core/comm/reduce.h"

#include <algorithm>

#include "core/base/float16.h"

namespace tandem {

namespace {

/// What a stored number is computed with.
template <class T>
struct Computed {
  using Type = T;
};
template <>
struct Computed<BFloat16> {
  using Type = float;
};
template <>
struct Computed<Float16> {
  using Type = float;
};

template <class T, class Combine>
void combine(T* __restrict accumulator, const T* __restrict values, std::int64_t count, Combine combined) {
  using Wide = typename Computed<T>::Type;
  for (std::int64_t i = 0; i < count; ++i)
    accumulator[i] =
        static_cast<T>(combined(static_cast<Wide>(accumulator[i]), static_cast<Wide>(values[i])));
}

template <class T>
void reduce(ReduceOp op, void* accumulator, const void* values, std::int64_t count) {
  auto* a = static_cast<T*>(accumulator);
  const auto* b = static_cast<const T*>(values);
  switch (op) {
    case ReduceOp::sum:
      return combine(a, b, count, [](auto x, auto y) { return x + y; });
    case ReduceOp::min:
      return combine(a, b, count, [](auto x, auto y) { return std::min(x, y); });
    case ReduceOp::max:
      return combine(a, b, count, [](auto x, auto y) { return std::max(x, y); });
  }
}

[[noreturn]] void refuse(DType dtype) {
  throw ContractError("the CPU reduces f32, f64, bf16, f16 and i64, not {}", name_of(dtype));
}

}  // namespace

void reduce_into(DType dtype, ReduceOp op, void* accumulator, const void* values, std::int64_t count) {
  if (dtype == DType::f32) return reduce<float>(op, accumulator, values, count);
  if (dtype == DType::f64) return reduce<double>(op, accumulator, values, count);
  if (dtype == DType::bf16) return reduce<BFloat16>(op, accumulator, values, count);
  if (dtype == DType::f16) return reduce<Float16>(op, accumulator, values, count);
  if (dtype == DType::i64) return reduce<std::int64_t>(op, accumulator, values, count);
  refuse(dtype);
}

void require_reducible(const Tensor& buffer) {
  const DType t = buffer.dtype();
  if (t == DType::i32 || t == DType::u8) refuse(t);
}

void require_blocks(const Tensor& buffer, int ranks) {
  require(buffer.numel() % ranks == 0, "{} elements are not {} equal blocks", buffer.numel(), ranks);
}

void require_peer(int peer, int ranks) {
  require(peer >= 0 && peer < ranks, "there is no rank {} among {}", peer, ranks);
}

}  // namespace tandem

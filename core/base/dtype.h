#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/base/error.h"

namespace tandem {

/// The element type of a tensor.
enum class DType : std::uint8_t { f32, f64, bf16, f16, i32, i64, u8 };

/// Bytes of one element.
std::size_t size_of(DType dtype);
/// What sums over many elements of this type are kept in: f64 for f64, f32 for the others.
inline DType accumulator_of(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}
/// "f32", "bf16", … as the logs write it.
std::string_view name_of(DType dtype);

template <class T>
inline constexpr DType dtype_of = DType::u8;
template <>
inline constexpr DType dtype_of<float> = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::i64;

/// Calls `f(T{})` with T = float or double as `dtype` says. CPU operations exist in both: float trains,
/// double checks gradients.
template <class F>
decltype(auto) visit_floating(DType dtype, F&& f) {
  if (dtype == DType::f32) return std::forward<F>(f)(float{});
  if (dtype == DType::f64) return std::forward<F>(f)(double{});
  throw ContractError("the CPU computes in f32 and f64, not in {}", name_of(dtype));
}

}  // namespace tandem

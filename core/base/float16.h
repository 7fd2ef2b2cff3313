#pragma once

#include <bit>
#include <cstdint>

#include "core/base/dtype.h"

namespace tandem {

/// The 16-bit floating types, as bits to be stored and sent; the host computes in float. Conversions round to
/// nearest even, keep infinities, and make any NaN a quiet one. Without branches, so that loops over them
/// become vector code.
struct BFloat16 {
  BFloat16() = default;
  explicit BFloat16(float x) {
    const auto u = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16, quiet = (u >> 16) | 0x40;
    bits = static_cast<std::uint16_t>((u & 0x7FFFFFFF) > 0x7F800000 ? quiet : rounded);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

  std::uint16_t bits = 0;
};

/// IEEE binary16: 5 bits of exponent, 10 of mantissa; 65504 at most, 2^-24 at least.
struct Float16 {
  Float16() = default;
  explicit Float16(float x) {
    const auto u = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = (u >> 16) & 0x8000, magnitude = u & 0x7FFFFFFF;
    // Normal numbers: another bias, 13 bits fewer. A carry out of the mantissa rightly raises the exponent.
    const std::uint32_t normal = (magnitude - (112u << 23) + 0xFFF + ((magnitude >> 13) & 1)) >> 13;
    // Below 2^-14: beside 0.5 a float's last bit is worth 2^-24, so the addition does the rounding.
    const float beside_half = std::bit_cast<float>(magnitude) + 0.5f;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(beside_half) - (126u << 23);
    std::uint32_t half = magnitude < (113u << 23) ? subnormal : normal;
    half = magnitude >= 0x477FF000 ? 0x7C00 : half;  // 65520 and more round to infinity
    half = magnitude > 0x7F800000 ? 0x7E00 : half;
    bits = static_cast<std::uint16_t>(sign | half);
  }
  explicit operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
    const std::uint32_t shifted = static_cast<std::uint32_t>(bits & 0x7FFF) << 13;
    const float scaled = std::bit_cast<float>(shifted) * 0x1p112f;  // subnormal numbers become normal ones
    const std::uint32_t finite = std::bit_cast<std::uint32_t>(scaled);
    return std::bit_cast<float>(sign | (shifted >= (31u << 23) ? shifted | (255u << 23) : finite));
  }

  std::uint16_t bits = 0;
};

template <>
inline constexpr DType dtype_of<BFloat16> = DType::bf16;
template <>
inline constexpr DType dtype_of<Float16> = DType::f16;

}  // namespace tandem

#include "core/base/float16.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/philox.h"

namespace tandem {
namespace {

/// The value of a pattern with that many bits of mantissa, by its definition.
double value_of(std::uint16_t bits, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7FFF) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1, unit = std::ldexp(1.0, -mantissa_bits);
  if (exponent == (1 << exponent_bits) - 1)
    return mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa * unit, 1 - bias);
  return sign * std::ldexp(1 + mantissa * unit, exponent - bias);
}

template <class T>
struct Traits;
template <>
struct Traits<BFloat16> {
  static constexpr int kMantissa = 7;
};
template <>
struct Traits<Float16> {
  static constexpr int kMantissa = 10;
};

template <class T>
class Float16Test : public ::testing::Test {};
using Types = ::testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(Float16Test, Types);

TYPED_TEST(Float16Test, EveryPatternHasItsValueAndComesBack) {
  for (int i = 0; i < 65536; ++i) {
    TypeParam x;
    x.bits = static_cast<std::uint16_t>(i);
    const float value = static_cast<float>(x);
    const double expected = value_of(x.bits, Traits<TypeParam>::kMantissa);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << i;
      ASSERT_TRUE(std::isnan(static_cast<float>(TypeParam(value)))) << i;
      continue;
    }
    ASSERT_EQ(value, expected) << i;
    ASSERT_EQ(TypeParam(value).bits, x.bits) << i;
  }
}

TYPED_TEST(Float16Test, RoundsToNearestEven) {
  constexpr int kMantissa = Traits<TypeParam>::kMantissa;
  constexpr int kInfinity = ((1 << (15 - kMantissa)) - 1) << kMantissa;
  for (int i = 0; i + 1 < kInfinity; ++i) {
    const auto low = static_cast<std::uint16_t>(i), high = static_cast<std::uint16_t>(i + 1);
    const double middle = (value_of(low, kMantissa) + value_of(high, kMantissa)) / 2;
    const auto half = static_cast<float>(middle);
    if (half != middle || half == 0) continue;  // too small for a float
    ASSERT_EQ(TypeParam(half).bits, i % 2 == 0 ? low : high) << i;
    ASSERT_EQ(TypeParam(std::nextafter(half, 0.0f)).bits, low) << i;
    ASSERT_EQ(TypeParam(std::nextafter(half, std::numeric_limits<float>::infinity())).bits, high) << i;
    ASSERT_EQ(TypeParam(-half).bits, 0x8000 | (i % 2 == 0 ? low : high)) << i;
  }
}

TEST(Float16, EndsAt65504) {
  EXPECT_EQ(static_cast<float>(Float16(65519.0f)), 65504.0f);
  EXPECT_EQ(static_cast<float>(Float16(65520.0f)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(static_cast<float>(Float16(-1e30f)), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(static_cast<float>(Float16(0x1p-25f)), 0.0f);
  EXPECT_EQ(static_cast<float>(Float16(0x1.8p-25f)), 0x1p-24f);
  EXPECT_TRUE(std::signbit(static_cast<float>(Float16(-0.0f))));
}

}  // namespace
}  // namespace tandem

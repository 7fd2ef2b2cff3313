#include "core/checkpoint/stored_tensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace tandem {
namespace {

/// The floats that elements of the given bits are, at an odd address.
template <class T>
std::vector<float> floats(DType dtype, const std::vector<T>& elements) {
  std::vector<std::uint8_t> bytes(1 + elements.size() * sizeof(T));
  std::memcpy(bytes.data() + 1, elements.data(), elements.size() * sizeof(T));
  const StoredTensor tensor{"t", "", dtype, {std::ssize(elements)}, std::span(bytes).subspan(1)};
  std::vector<float> values(elements.size());
  read_floats(tensor, 0, values);
  return values;
}

TEST(StoredTensor, EveryHalfIsReadExactly) {
  std::vector<std::uint16_t> halves(1 << 16);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const std::vector<float> values = floats(DType::f16, halves);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const int sign = i >> 15 ? -1 : 1, exponent = i >> 10 & 31;
    const double mantissa = static_cast<double>(i & 1023);
    if (exponent == 31 && mantissa > 0) {
      EXPECT_TRUE(std::isnan(values[i])) << i;
    } else if (exponent == 31) {
      EXPECT_EQ(values[i], sign * std::numeric_limits<float>::infinity()) << i;
    } else {
      const double expected =
          exponent == 0 ? std::ldexp(mantissa / 1024, -14) : std::ldexp(1 + mantissa / 1024, exponent - 15);
      EXPECT_EQ(values[i], sign * expected) << i;
      EXPECT_EQ(std::signbit(values[i]), sign < 0) << i;
    }
  }
}

TEST(StoredTensor, Bf16IsTheUpperHalfOfAFloat) {
  for (const float value : {0.0f, -1.0f, 3.140625f, 1e-40f, -std::numeric_limits<float>::infinity()}) {
    const auto upper = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
    const float expected = std::bit_cast<float>(std::uint32_t{upper} << 16);
    EXPECT_EQ(floats<std::uint16_t>(DType::bf16, {upper, 0x3f80}), (std::vector{expected, 1.0f}));
  }
}

TEST(StoredTensor, DoublesAreRoundedAndFloatsKept) {
  EXPECT_EQ(floats<double>(DType::f64, {1.0 / 3, 1e300}),
            (std::vector{1.0f / 3, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(floats<float>(DType::f32, {1.5f, -1e-45f}), (std::vector{1.5f, -1e-45f}));
}

TEST(StoredTensor, AnyStretchCanBeRead) {
  const std::vector<float> all = {0, 1, 2, 3, 4};
  const StoredTensor tensor{
      "t", "F32", DType::f32, {5}, {reinterpret_cast<const std::uint8_t*>(all.data()), 20}};
  std::vector<float> some(2);
  read_floats(tensor, 3, some);
  EXPECT_EQ(some, (std::vector<float>{3, 4}));
  EXPECT_THROW(read_floats(tensor, 4, some), ContractError);
}

TEST(StoredTensor, OtherTypesAreNoWeights) {
  const std::vector<std::uint8_t> bytes(8);
  const StoredTensor whole{"steps", "I64", DType::i64, {1}, bytes}, mask{"mask", "BOOL", {}, {8}, bytes};
  std::vector<float> value(1);
  for (const StoredTensor& tensor : {whole, mask}) {
    EXPECT_FALSE(is_floating(tensor));
    try {
      read_floats(tensor, 0, value);
      FAIL();
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(tensor.name + " is of type " + tensor.type),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tandem

#include "core/checkpoint/stored_tensor.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tandem {

namespace {

template <class T>
T load(const std::uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

/// IEEE 754 binary16: sign, 5 bits of exponent (bias 15), 10 of mantissa.
float from_f16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const auto mantissa = static_cast<float>(bits & 1023);
  const float sign = bits >> 15 ? -1.0f : 1.0f;
  if (exponent == 31) return sign * (mantissa == 0 ? INFINITY : NAN);
  if (exponent == 0) return sign * mantissa * 0x1.0p-24f;
  return sign * std::ldexp(1024.0f + mantissa, exponent - 25);
}

}  // namespace

bool is_floating(const StoredTensor& tensor) {
  return tensor.dtype == DType::f32 || tensor.dtype == DType::f64 || tensor.dtype == DType::bf16 ||
         tensor.dtype == DType::f16;
}

void read_floats(const StoredTensor& tensor, std::int64_t first, std::span<float> to) {
  require(first >= 0 && first + std::ssize(to) <= tensor.shape.numel(),
          "elements {} to {} of {} {} were asked for", first, first + std::ssize(to), tensor.name,
          tensor.shape.str());
  const auto convert = [&]<class T>(T, auto&& value) {
    const std::uint8_t* from = tensor.bytes.data() + static_cast<std::size_t>(first) * sizeof(T);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = value(load<T>(from + i * sizeof(T)));
  };
  if (tensor.dtype == DType::f32) return convert(float{}, [](float x) { return x; });
  if (tensor.dtype == DType::f64) return convert(double{}, [](double x) { return static_cast<float>(x); });
  if (tensor.dtype == DType::bf16) return convert(std::uint16_t{}, from_bf16);
  if (tensor.dtype == DType::f16) return convert(std::uint16_t{}, from_f16);
  throw DataError("tensor {} is of type {}: weights are F32, F16, BF16 or F64", tensor.name, tensor.type);
}

}  // namespace tandem

#include "core/nn/init.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include "core/base/philox.h"

namespace tandem {

namespace {

/// FNV-1a: names become Philox streams that no platform changes.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325ull;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return hash;
}

using Block = std::array<std::uint32_t, 4>;

/// In (0, 1), never its ends; 24 bits are as many as a float holds.
float unit(std::uint32_t bits) {
  return (static_cast<float>(bits >> 8) + 0.5f) * 0x1.0p-24f;
}

std::array<float, 4> uniforms(const Block& bits) {
  std::array<float, 4> u;
  for (int i = 0; i < 4; ++i) u[i] = 2 * unit(bits[i]) - 1;  // in (-1, 1)
  return u;
}

/// Box and Muller's transform, twice. In float, because large models draw billions of these.
std::array<float, 4> normals(const Block& bits) {
  std::array<float, 4> n;
  for (int i = 0; i < 4; i += 2) {
    const float radius = std::sqrt(-2 * std::log(unit(bits[i])));
    const float angle = 2 * std::numbers::pi_v<float> * unit(bits[i + 1]);
    n[i] = radius * std::cos(angle);
    n[i + 1] = radius * std::sin(angle);
  }
  return n;
}

/// values[i] = scale · draw(Philox block i / 4)[i % 4]
template <class T, class Draw>
void fill(T* values, std::int64_t count, std::uint64_t seed, std::uint64_t stream, double scale, Draw draw) {
  for (std::int64_t i = 0; i < count; i += 4) {
    const auto block = static_cast<std::uint64_t>(i / 4);
    const Block counter = {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                           static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
    const std::array<float, 4> drawn = draw(philox4x32(counter, seed));
    for (std::int64_t k = 0; k < std::min<std::int64_t>(4, count - i); ++k)
      values[i + k] = static_cast<T>(scale * drawn[static_cast<std::size_t>(k)]);
  }
}

}  // namespace

void draw_initial_value(const Parameter& parameter, std::uint64_t seed, const Tensor& into) {
  visit_floating(into.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* values = into.as<T>();
    const std::int64_t count = parameter.numel();
    const std::uint64_t stream = hash_of(parameter.name);
    switch (parameter.init.kind) {
      case Init::Kind::zeros:
        std::fill_n(values, count, T{0});
        break;
      case Init::Kind::ones:
        std::fill_n(values, count, T{1});
        break;
      case Init::Kind::normal:
        fill(values, count, seed, stream, parameter.init.scale, normals);
        break;
      case Init::Kind::uniform:
        fill(values, count, seed, stream, parameter.init.scale, uniforms);
        break;
    }
  });
}

}  // namespace tandem

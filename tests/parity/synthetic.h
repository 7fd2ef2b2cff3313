#pragma once

#include <cstdint>
#include <vector>

#include "core/nn/parameter.h"

namespace tandem::parity {

// The weights and batches of make_golden.py, to the last bit.

/// A well mixed 32-bit hash of (key, index). (Finalizer "lowbias32" of C. Wellons.)
inline std::uint32_t mix(std::uint32_t key, std::uint64_t index) {
  auto x = static_cast<std::uint32_t>(index * 0x9E3779B9u + std::uint64_t{key} * 0x85EBCA6Bu);
  x ^= x >> 16;
  x *= 0x7FEB352Du;
  x ^= x >> 15;
  x *= 0x846CA68Bu;
  return x ^ (x >> 16);
}

/// In [0, 1), a multiple of 2⁻²⁴: exact in fp32.
inline float unit(std::uint32_t key, std::uint64_t index) {
  return static_cast<float>(mix(key, index) >> 8) * 0x1.0p-24f;
}

/// Parameter k, in definition order: (unit(k, i) − 1/2) / 8, plus 1 for the gains of norms.
inline void fill(const ParameterList& parameters) {
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const Parameter& p = *parameters[k];
    const float centre = p.init.kind == Init::Kind::ones ? 1.0f : 0.0f;
    for (std::int64_t i = 0; i < p.numel(); ++i)
      p.value.as<float>()[i] =
          (unit(static_cast<std::uint32_t>(k), static_cast<std::uint64_t>(i)) - 0.5f) * 0.125f + centre;
  }
}

/// Noisy prototypes of ten classes: x [batch, pixels], labels [batch].
struct ImageBatch {
  std::vector<float> x;
  std::vector<std::int32_t> labels;

  ImageBatch(std::uint64_t step, std::uint64_t batch, std::uint64_t pixels) {
    for (std::uint64_t n = step * batch; n < (step + 1) * batch; ++n) {
      const std::uint32_t label = mix(1000, n) % 10;
      labels.push_back(static_cast<std::int32_t>(label));
      for (std::uint64_t i = 0; i < pixels; ++i)
        x.push_back((unit(1001, label * pixels + i) + unit(1002, n * pixels + i)) * 0.5f);
    }
  }
};

/// Bytes from a noisy linear congruence: ids [batch, length], and as targets each id's successor.
struct TokenBatch {
  std::vector<std::int32_t> ids, targets;

  TokenBatch(std::uint64_t step, std::uint64_t batch, std::uint64_t length) {
    for (std::uint64_t row = step * batch; row < (step + 1) * batch; ++row) {
      std::uint32_t token = mix(2000, row) & 255;
      for (std::uint64_t t = 0; t < length; ++t) {
        ids.push_back(static_cast<std::int32_t>(token));
        token = (token * 5 + (mix(2001, row * length + t) & 3)) & 255;
        targets.push_back(static_cast<std::int32_t>(token));
      }
    }
  }
};

}  // namespace tandem::parity

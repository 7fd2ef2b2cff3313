#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace tandem {

/// Philox4x32-10: 128 random bits as a pure function of a 128-bit counter and a 64-bit key, so any rank or
/// thread can draw any number without drawing those before it. Source: Salmon et al., "Parallel random
/// numbers: as easy as 1, 2, 3", SC'11.
inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = 0xD2511F53ull * counter[0], p1 = 0xCD9E8D57ull * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

/// A sequence of random numbers keyed by (seed, stream): two streams of one seed are independent, and the
/// same pair always gives the same sequence. Satisfies UniformRandomBitGenerator.
class Philox {
 public:
  using result_type = std::uint32_t;

  explicit Philox(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return 0xFFFFFFFFu; }

  result_type operator()() {
    if (used_ == 4) {
      block_ = philox4x32({static_cast<std::uint32_t>(index_), static_cast<std::uint32_t>(index_ >> 32),
                           static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)},
                          seed_);
      ++index_;
      used_ = 0;
    }
    return block_[used_++];
  }

  /// Uniform in [0, 1), 53 bits.
  double uniform() {
    const std::uint64_t high = (*this)(), low = (*this)();
    return static_cast<double>(((high << 32) | low) >> 11) * 0x1.0p-53;
  }

  /// Standard normal, by Box and Muller's transform.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t seed_, stream_, index_ = 0;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
};

}  // namespace tandem

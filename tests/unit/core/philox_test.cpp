#include "core/base/philox.h"

#include <array>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace tandem {

namespace {

using Block = std::array<std::uint32_t, 4>;

// Known answers of Random123 (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, ~0ull), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, ASequenceIsItsBlocksOneAfterAnother) {
  Philox random(42, 5);
  for (std::uint32_t index = 0; index < 3; ++index)
    for (const auto word : philox4x32({index, 0, 5, 0}, 42)) EXPECT_EQ(random(), word);
}

TEST(Philox, SeedsAndStreamsDiffer) {
  std::set<std::uint32_t> first;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (std::uint64_t stream = 0; stream < 8; ++stream) first.insert(Philox(seed, stream)());
  EXPECT_EQ(first.size(), 64u);
  EXPECT_NE(Philox(1, 1ull << 32)(), Philox(1, 0)()) << "the upper half of the stream's number counts";
}

struct Moments {
  double mean = 0, variance = 0, fourth = 0;  // fourth central moment / variance²
};

template <class Draw>
Moments moments(int count, Draw&& draw) {
  double sum = 0, square = 0, fourth = 0;
  std::vector<double> values(count);
  for (double& v : values) sum += v = draw();
  const double mean = sum / count;
  for (const double v : values) square += (v - mean) * (v - mean), fourth += std::pow(v - mean, 4);
  const double variance = square / count;
  return {mean, variance, fourth / count / (variance * variance)};
}

constexpr int kDraws = 400000;  // standard error of a mean of unit variance: 0.0016

TEST(Philox, UniformHasItsMomentsAndRange) {
  Philox random(2024);
  double low = 1, high = 0;
  const auto m = moments(kDraws, [&] {
    const double v = random.uniform();
    low = std::min(low, v), high = std::max(high, v);
    return v;
  });
  EXPECT_GE(low, 0.0);
  EXPECT_LT(high, 1.0);
  EXPECT_NEAR(m.mean, 0.5, 0.003);
  EXPECT_NEAR(m.variance, 1.0 / 12, 0.001);
  EXPECT_NEAR(m.fourth, 1.8, 0.02);
}

TEST(Philox, NormalHasItsMoments) {
  Philox random(2025);
  const auto m = moments(kDraws, [&] { return random.normal(); });
  EXPECT_NEAR(m.mean, 0.0, 0.01);
  EXPECT_NEAR(m.variance, 1.0, 0.02);
  EXPECT_NEAR(m.fourth, 3.0, 0.1);
}

}  // namespace

}  // namespace tandem

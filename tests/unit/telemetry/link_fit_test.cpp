#include "core/telemetry/link_fit.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/philox.h"

namespace tandem {
namespace {

std::vector<LinkSample> samples_of(double (*us)(double), double noise, std::uint64_t seed) {
  Philox random(seed, 0);
  std::vector<LinkSample> samples;
  for (double bytes = 1024; bytes <= 512.0 * (1 << 20); bytes *= 2)
    samples.push_back({bytes, us(bytes) * (1 + noise * random.normal())});
  return samples;
}

double straight(double bytes) {
  return 20 + 1e-3 * bytes;  // 20 us, 1 GB/s
}

double two_regimes(double bytes) {
  return bytes < 1 << 20 ? 10 + 1e-4 * bytes : -1000 + 1.1e-3 * bytes;
}

TEST(LinkFit, AStraightLineStaysOneSegment) {
  const auto link = fit_link(samples_of(straight, 0, 1));
  ASSERT_EQ(link.segments.size(), 1u);
  EXPECT_NEAR(link.latency_us(), 20, 1e-9);
  EXPECT_NEAR(link.bandwidth_gb_s(), 1, 1e-9);
  EXPECT_NEAR(link.half_bandwidth_bytes(), 20e3, 1e-3);
  EXPECT_NEAR(link.us(123456), straight(123456), 1e-6);
  EXPECT_LT(link.worst_error, 1e-9);
}

TEST(LinkFit, NoiseOfAPercentMakesNoSegments) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto link = fit_link(samples_of(straight, 0.005, seed));
    EXPECT_EQ(link.segments.size(), 1u) << "seed " << seed;
    EXPECT_NEAR(link.latency_us(), 20, 0.3) << "seed " << seed;
    EXPECT_NEAR(link.bandwidth_gb_s(), 1, 0.02) << "seed " << seed;
  }
}

TEST(LinkFit, FindsTheCrossingOfTwoRegimes) {
  const auto link = fit_link(samples_of(two_regimes, 0, 1));
  ASSERT_EQ(link.segments.size(), 2u);
  EXPECT_NEAR(link.segments[0].alpha_us, 10, 1e-6);
  EXPECT_NEAR(link.segments[1].beta_us_per_byte, 1.1e-3, 1e-9);
  // The lines cross at 1.01 MB, between the samples of 512 KiB and 1 MiB.
  EXPECT_NEAR(link.segments[1].from_bytes, 1.01e6, 1);
  for (const double bytes : {2e3, 5e5, 3e6, 4e8}) EXPECT_NEAR(link.us(bytes) / two_regimes(bytes), 1, 1e-6);
  EXPECT_NEAR(link.half_bandwidth_bytes(), 10 / 1.1e-3, 1e-3);
}

TEST(LinkFit, KeepsTwoRegimesApartInNoise) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto link = fit_link(samples_of(two_regimes, 0.03, seed));
    ASSERT_GE(link.segments.size(), 2u) << "seed " << seed;
    EXPECT_NEAR(link.bandwidth_gb_s(), 1 / 1.1, 0.06) << "seed " << seed;
    EXPECT_LT(link.worst_error, 0.2) << "seed " << seed;
  }
}

TEST(LinkFit, NeverFallsWithSizeAndNeverStartsBelowZero) {
  const std::vector<LinkSample> falling = {{1e3, 50}, {2e3, 40}, {4e3, 30}};
  const auto flat = fit_link(falling);
  EXPECT_EQ(flat.segments.size(), 1u);
  EXPECT_EQ(flat.segments[0].beta_us_per_byte, 0);
  EXPECT_GE(flat.us(1e9), 30);
  const std::vector<LinkSample> steep = {{1e3, 1}, {2e3, 4}, {4e3, 13}};
  EXPECT_EQ(fit_link(steep).latency_us(), 0);
}

TEST(LinkFit, OrderDoesNotMatterAndSizesAreUnlike) {
  auto samples = samples_of(two_regimes, 0.02, 7);
  const auto link = fit_link(samples);
  std::reverse(samples.begin(), samples.end());
  EXPECT_EQ(fit_link(samples).us(3e5), link.us(3e5));
  samples.push_back(samples[0]);
  EXPECT_THROW(fit_link(samples), ContractError);
  EXPECT_THROW(fit_link(std::span(samples).first(1)), ContractError);
  EXPECT_THROW(fit_link(std::vector<LinkSample>{{1, 0}, {2, 1}}), ContractError);
}

TEST(LinkFit, WithoutSegmentsNothingTakesTime) {
  const LinkModel link;
  EXPECT_EQ(link.us(1e9), 0);
  EXPECT_EQ(link.half_bandwidth_bytes(), 0);
}

}  // namespace
}  // namespace tandem

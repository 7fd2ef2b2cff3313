#include "dataloader/sampler.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tandem {
namespace {

std::vector<std::int64_t> order(std::int64_t n, std::uint64_t seed, std::uint64_t epoch) {
  const Permutation permutation(n, seed, epoch);
  std::vector<std::int64_t> images(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) images[static_cast<std::size_t>(i)] = permutation(i);
  return images;
}

bool is_permutation_of_all(std::vector<std::int64_t> images) {
  std::sort(images.begin(), images.end());
  for (std::size_t i = 0; i < images.size(); ++i)
    if (images[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

TEST(Permutation, IsABijectionForEverySize) {
  std::random_device fresh;
  for (std::int64_t n = 0; n <= 300; ++n) EXPECT_TRUE(is_permutation_of_all(order(n, fresh(), fresh()))) << n;
  for (const std::int64_t n : {1023, 1024, 1025, 4096, 4097, 60000})
    EXPECT_TRUE(is_permutation_of_all(order(n, ~std::uint64_t{0}, 3))) << n;
}

TEST(Permutation, EpochsAndSeedsDiffer) {
  const auto first = order(1000, 7, 0);
  EXPECT_EQ(first, order(1000, 7, 0));
  EXPECT_NE(first, order(1000, 7, 1));
  EXPECT_NE(first, order(1000, 8, 0));
  EXPECT_NE(first, order(1000, 7, std::uint64_t{1} << 32));
  EXPECT_NE(order(1000, 1, 0), order(1000, 1 + (std::uint64_t{1} << 32), 0));
}

// An order that changed from one version to the next would make a resumed run see samples twice.
TEST(Permutation, StaysAsItWas) {
  EXPECT_EQ(order(10, 42, 0), (std::vector<std::int64_t>{1, 2, 3, 9, 6, 0, 7, 5, 8, 4}));
}

TEST(Permutation, ServesHugeSizes) {
  const std::int64_t n = std::int64_t{1} << 62;
  for (const std::int64_t size : {n - 1, n, n + 1, std::numeric_limits<std::int64_t>::max()}) {
    std::set<std::int64_t> seen;
    const Permutation permutation(size, 5, 0);
    for (std::int64_t i = 0; i < 1000; ++i) {
      const std::int64_t image = permutation(size - 1 - i);
      EXPECT_GE(image, 0);
      EXPECT_LT(image, size);
      EXPECT_TRUE(seen.insert(image).second);
    }
  }
}

// Each position's image is uniform over seeds: a chi-square test that a fair shuffle fails once in 10^6
// times.
TEST(Permutation, IsUniform) {
  constexpr int kN = 10, kDraws = 20000;
  std::vector<double> counts(kN * kN);
  std::random_device fresh;
  const std::uint64_t base = fresh();
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    const Permutation permutation(kN, base + seed, 0);
    for (int i = 0; i < kN; ++i) counts[static_cast<std::size_t>(i * kN + permutation(i))] += 1;
  }
  double chi2 = 0;
  for (const double c : counts) chi2 += (c - kDraws / kN) * (c - kDraws / kN) / (kDraws / kN);
  EXPECT_LT(chi2, 160) << "81 degrees of freedom";
}

TEST(Permutation, ShufflesNeighboursApart) {
  const auto images = order(100'000, 11, 0);
  double mean_step = 0;
  for (std::size_t i = 1; i < images.size(); ++i)
    mean_step += std::abs(static_cast<double>(images[i] - images[i - 1]));
  mean_step /= static_cast<double>(images.size() - 1);
  EXPECT_NEAR(mean_step, 100'000 / 3.0, 500);  // of independent uniform positions
}

TEST(Permutation, RefusesPositionsOutside) {
  const Permutation permutation(3, 0, 0);
  EXPECT_THROW(permutation(3), ContractError);
  EXPECT_THROW(permutation(-1), ContractError);
  EXPECT_THROW(Permutation(0, 0, 0)(0), ContractError);
}

// ------------------------------------------------------------------------------------------------------------

struct Case {
  std::int64_t size, batch, micro_batches;
  int ranks;
  Tail tail;
};

DistributedSampler sampler_of(const Case& c, int rank, bool shuffle = true) {
  return {.dataset_size = c.size,
          .batch = c.batch,
          .micro_batches = c.micro_batches,
          .rank = rank,
          .ranks = c.ranks,
          .shuffle = shuffle,
          .seed = ~std::uint64_t{0},
          .tail = c.tail};
}

// The samples of one epoch in the order (step, micro-batch, rank, row), empty rows left out.
std::vector<std::int64_t> epoch_order(const Case& c, std::int64_t epoch, bool shuffle = true) {
  std::vector<std::int64_t> samples;
  const std::int64_t steps = sampler_of(c, 0).steps_per_epoch();
  for (std::int64_t step = epoch * steps; step < (epoch + 1) * steps; ++step)
    for (std::int64_t micro = 0; micro < c.micro_batches; ++micro)
      for (int rank = 0; rank < c.ranks; ++rank)
        for (std::int64_t row = 0; row < c.batch; ++row) {
          const std::int64_t sample = sampler_of(c, rank, shuffle).sample(step, micro, row);
          if (sample >= 0) samples.push_back(sample);
        }
  return samples;
}

TEST(DistributedSampler, GivesEachSampleOnceAndTheSameOrderToAnyNumberOfRanks) {
  for (const std::int64_t size : {1, 2, 5, 24, 97, 100})
    for (const std::int64_t epoch : {0, 1, 2}) {
      const auto alone = epoch_order({size, 3, 1, 1, Tail::pad}, epoch);
      EXPECT_TRUE(is_permutation_of_all(alone));
      for (const int ranks : {1, 2, 3})
        for (const std::int64_t micro_batches : {1, 2})
          EXPECT_EQ(epoch_order({size, 4, micro_batches, ranks, Tail::pad}, epoch), alone)
              << size << " samples, epoch " << epoch << ", " << ranks << " ranks";
    }
}

TEST(DistributedSampler, DropLeavesOutTheEndOfTheEpochOnly) {
  const Case padded{100, 4, 2, 3, Tail::pad}, dropped{100, 4, 2, 3, Tail::drop};
  auto all = epoch_order(padded, 1);
  // The epochs of the two have different lengths in steps, but the same permutation.
  all.resize(96);
  EXPECT_EQ(epoch_order(dropped, 1), all);
}

TEST(DistributedSampler, CountsTheTail) {
  const auto pad = sampler_of({100, 4, 2, 3, Tail::pad}, 0), drop = sampler_of({100, 4, 2, 3, Tail::drop}, 0);
  EXPECT_EQ(pad.global_batch(), 24);
  EXPECT_EQ(pad.steps_per_epoch(), 5);
  EXPECT_EQ(pad.tail_samples(), 20);
  EXPECT_EQ(drop.steps_per_epoch(), 4);
  EXPECT_EQ(drop.tail_samples(), 4);
  const auto even = sampler_of({96, 4, 2, 3, Tail::pad}, 0);
  EXPECT_EQ(even.steps_per_epoch(), 4);
  EXPECT_EQ(even.tail_samples(), 0);
}

TEST(DistributedSampler, ValidSamplesAreTheRowsThatAreNotEmpty) {
  for (const Tail tail : {Tail::pad, Tail::drop})
    for (const std::int64_t size : {24, 25, 47, 48, 100}) {
      const Case c{size, 4, 2, 3, tail};
      for (std::int64_t step = 0; step < 12; ++step) {
        std::int64_t rows = 0;
        for (int rank = 0; rank < c.ranks; ++rank)
          for (std::int64_t i = 0; i < c.batch * c.micro_batches; ++i)
            rows += sampler_of(c, rank).sample(step, i / c.batch, i % c.batch) >= 0;
        EXPECT_EQ(sampler_of(c, 0).valid_samples(step), rows) << size << " " << step;
      }
    }
}

TEST(DistributedSampler, UnshuffledIsTheOrderOfTheDataInEveryEpoch) {
  const Case c{10, 2, 1, 2, Tail::pad};
  std::vector<std::int64_t> expected(10);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(epoch_order(c, 0, false), expected);
  EXPECT_EQ(epoch_order(c, 1, false), expected);
}

TEST(DistributedSampler, OneSampleAndNone) {
  const auto one = sampler_of({1, 4, 1, 2, Tail::pad}, 0), other = sampler_of({1, 4, 1, 2, Tail::pad}, 1);
  EXPECT_EQ(one.steps_per_epoch(), 1);
  EXPECT_EQ(one.sample(0, 0, 0), 0);
  EXPECT_EQ(one.sample(0, 0, 1), -1);
  EXPECT_EQ(other.sample(7, 0, 0), -1);
  for (const Tail tail : {Tail::pad, Tail::drop}) {
    const auto none = sampler_of({0, 4, 1, 2, tail}, 0);
    EXPECT_EQ(none.steps_per_epoch(), 0);
    EXPECT_EQ(none.tail_samples(), 0);
    EXPECT_EQ(none.sample(3, 0, 0), -1);
    EXPECT_EQ(none.valid_samples(3), 0);
  }
  EXPECT_EQ(sampler_of({3, 4, 1, 2, Tail::drop}, 0).sample(0, 0, 0), -1);
}

}  // namespace
}  // namespace tandem

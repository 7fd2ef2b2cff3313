#include "dataloader/sampler.h"

#include <algorithm>
#include <bit>

#include "core/base/error.h"
#include "core/base/philox.h"

namespace tandem {

namespace {

constexpr std::uint32_t kRounds = 8;  // four are proven good for large blocks; small ones need some more
constexpr std::uint32_t kRoundTag = 0xF0000000u;  // keeps these counters apart from those of class Philox

int half_bits_for(std::uint64_t n) {
  const int bits = n <= 2 ? 1 : std::bit_width(n - 1);
  return (bits + 1) / 2;
}

}  // namespace

Permutation::Permutation(std::int64_t n, std::uint64_t seed, std::uint64_t epoch)
    : n_(static_cast<std::uint64_t>(n)), seed_(seed), epoch_(epoch), half_bits_(half_bits_for(n_)) {
  require(n >= 0, "a permutation of {} elements", n);
}

std::int64_t Permutation::operator()(std::int64_t position) const {
  auto block = static_cast<std::uint64_t>(position);
  require(position >= 0 && block < n_, "position {} of a permutation of {} elements", position, n_);
  // Walk the cycle until it is back below n. The network permutes fewer than 4·n blocks, so this takes fewer
  // than four rounds on average.
  do {
    block = encrypt(block);
  } while (block >= n_);
  return static_cast<std::int64_t>(block);
}

std::uint64_t Permutation::encrypt(std::uint64_t block) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = block >> half_bits_, right = block & mask;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const auto random =
        philox4x32({static_cast<std::uint32_t>(right), kRoundTag + round, static_cast<std::uint32_t>(epoch_),
                    static_cast<std::uint32_t>(epoch_ >> 32)},
                   seed_);
    const std::uint64_t mixed = left ^ (random[0] & mask);
    left = right;
    right = mixed;
  }
  return (left << half_bits_) | right;
}

std::int64_t DistributedSampler::steps_per_epoch() const {
  const std::int64_t full = dataset_size / global_batch();
  const bool has_tail = dataset_size % global_batch() != 0;
  return tail == Tail::pad && has_tail ? full + 1 : full;
}

std::int64_t DistributedSampler::tail_samples() const {
  const std::int64_t left_over = dataset_size % global_batch();
  if (tail == Tail::drop || left_over == 0) return left_over;
  return global_batch() - left_over;
}

std::int64_t DistributedSampler::epoch(std::int64_t step) const {
  return step / std::max<std::int64_t>(1, steps_per_epoch());
}

std::int64_t DistributedSampler::sample(std::int64_t step, std::int64_t micro, std::int64_t row) const {
  return global_sample(step, (micro * ranks + rank) * batch + row);
}

std::int64_t DistributedSampler::global_sample(std::int64_t step, std::int64_t position) const {
  const std::int64_t steps = steps_per_epoch();
  if (steps == 0) return -1;
  const std::int64_t in_epoch = step % steps * global_batch() + position;
  if (in_epoch >= dataset_size) return -1;
  return shuffle ? Permutation(dataset_size, seed, static_cast<std::uint64_t>(step / steps))(in_epoch)
                 : in_epoch;
}

std::int64_t DistributedSampler::valid_samples(std::int64_t step) const {
  const std::int64_t steps = steps_per_epoch();
  if (steps == 0) return 0;
  return std::min(global_batch(), dataset_size - step % steps * global_batch());
}

}  // namespace tandem

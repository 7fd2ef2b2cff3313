#pragma once

#include <cstdint>

namespace tandem {

/// A pseudo-random permutation of [0, n) as a pure function: O(1) memory, so it serves data sets of any size.
/// A Feistel network over the smallest even number of bits that holds n, whose rounds are Philox, with cycle
/// walking to stay below n (Black & Rogaway, "Ciphers with arbitrary finite domains", 2002).
class Permutation {
 public:
  Permutation(std::int64_t n, std::uint64_t seed, std::uint64_t epoch);
  /// Where `position` ∈ [0, n) goes.
  std::int64_t operator()(std::int64_t position) const;

 private:
  std::uint64_t encrypt(std::uint64_t block) const;

  std::uint64_t n_, seed_, epoch_;
  int half_bits_;  // the network permutes [0, 4^half_bits), which holds n
};

/// What to do with the last global batch of an epoch when the samples do not fill it.
enum class Tail {
  pad,   ///< missing rows are empty (target −1), so every sample counts exactly once
  drop,  ///< the samples are left out of this epoch
};

/// Which sample each row of each batch is. A pure function of its members, the same on all ranks; slices are
/// disjoint. The epoch's order does not depend on the number of ranks: global batch s holds positions [s·B,
/// (s+1)·B) of the epoch's permutation, B = batch·micro_batches·ranks; within it, micro-batch m of rank r
/// holds the `batch` positions from (m·ranks + r)·batch.
struct DistributedSampler {
  std::int64_t dataset_size = 0;
  std::int64_t batch = 1;          ///< b: samples per rank and micro-batch
  std::int64_t micro_batches = 1;  ///< K
  int rank = 0, ranks = 1;         ///< P
  bool shuffle = true;             ///< false (validation): samples in their own order, every epoch the same
  std::uint64_t seed = 0;
  Tail tail = Tail::pad;

  std::int64_t global_batch() const { return batch * micro_batches * ranks; }
  /// 0 if there is no sample, or (drop) fewer than one global batch.
  std::int64_t steps_per_epoch() const;
  /// Samples that an epoch leaves out (drop), or empty rows that it adds (pad).
  std::int64_t tail_samples() const;
  /// The epoch that step `step`, counted over epochs, belongs to.
  std::int64_t epoch(std::int64_t step) const;
  /// The sample of row `row` of micro-batch `micro` of step `step` (counted over epochs) on this rank, or −1
  /// for an empty row.
  std::int64_t sample(std::int64_t step, std::int64_t micro, std::int64_t row) const;
  /// The sample at `position` ∈ [0, B) of the global batch of `step`, or −1 for an empty row.
  std::int64_t global_sample(std::int64_t step, std::int64_t position) const;
  /// Samples (not empty rows) that all ranks' micro-batches of this step hold together.
  std::int64_t valid_samples(std::int64_t step) const;
};

}  // namespace tandem

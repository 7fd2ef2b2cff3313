#pragma once

#include <cstdint>

#include "bench/collectives.h"

namespace tandem::bench {

/// Puts a kind of collective on a stream, and knows what it must give: every element is a small whole number
/// made of (seed, rank, index), so sums are exact whatever their order.
class CheckedCollective {
 public:
  /// `buffer` [numel] f32, of size() equal blocks where the kind has blocks.
  CheckedCollective(Context& context, Communicator& comm, Collective op, const Tensor& buffer);

  /// Fills this rank's part of the buffer with fresh values.
  void fill(std::uint64_t seed);
  /// Puts the collective on `stream`.
  void call(Stream& stream);
  /// Elements of this rank's result that are wrong, after fill(seed) and one call.
  std::int64_t count_wrong(std::uint64_t seed);

 private:
  float expected(std::uint64_t seed, std::int64_t index) const;
  /// The part of the buffer that holds this rank's result: elements [begin, end).
  std::int64_t begin() const;
  std::int64_t end() const;
  int peer() const { return comm_.rank() ^ 1; }
  bool has_peer() const { return peer() < comm_.size(); }
  bool sends() const { return comm_.rank() % 2 == 0; }

  Context& context_;
  Communicator& comm_;
  Collective op_;
  Tensor buffer_;
};

}  // namespace tandem::bench

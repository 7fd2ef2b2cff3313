#include "core/comm/mpi/mpi_ring.h"

#include <algorithm>
#include <array>

#include "core/comm/mpi/mpi_check.h"
#include "core/comm/reduce.h"

namespace tandem::mpi {

namespace {

constexpr int kInFlight = 4;  // pieces on their way at once

/// What one collective does to each of its pieces.
struct Job {
  Group& group;
  const Tensor& buffer;
  ReduceOp op;
  bool reduce, gather;  // the two halves of an all-reduce
  std::int64_t block;   // most elements of a piece's block
  std::int64_t stride;  // elements between the starts of a piece's blocks
};

/// One piece: P blocks that start `stride` elements apart, sent round the ring block by block. For an
/// all-reduce the blocks lie side by side (stride = block) and the last ones of the buffer may be cut off at
/// its end; for a reduce-scatter or all-gather they are the same part of every rank's block.
class Piece {
 public:
  /// Starts the piece whose first block is [first, first + count); no block reaches beyond `end`.
  void start(const Job& job, int slot, std::int64_t first, std::int64_t count, std::int64_t end) {
    first_ = first, count_ = count, end_ = end, slot_ = slot;
    step_ = job.reduce ? 0 : job.group.size() - 1;
    last_step_ = (job.gather ? 2 : 1) * (job.group.size() - 1);
    active_ = true;
    post(job);
  }

  bool active() const { return active_; }

  /// Looks whether the step's messages have come; if so goes on with the next step. True on progress.
  bool advance(const Job& job) {
    int done = 0;
    TANDEM_MPI(MPI_Testall(2, requests_.data(), &done, MPI_STATUSES_IGNORE));
    if (!done) return false;
    if (reducing(job)) {
      const Tensor sum = block(job, incoming(job));
      reduce_into(sum.dtype(), job.op, sum.data(), inbox(job), sum.numel());
    }
    active_ = ++step_ < last_step_;
    if (active_) post(job);
    return true;
  }

 private:
  // Steps 0 … P−2 reduce: block r−1−s is sent, r−2−s received and added. Steps P−1 … 2P−3 gather: block r−t
  // is sent, r−1−t received, t = s−(P−1). With P−1 ≡ −1 (mod P) both are: send r−1−s, receive r−2−s.
  int incoming(const Job& job) const { return job.group.rank() - 2 - step_; }
  int outgoing(const Job& job) const { return job.group.rank() - 1 - step_; }
  bool reducing(const Job& job) const { return step_ < job.group.size() - 1; }

  Tensor block(const Job& job, int index) const {
    const int p = job.group.size();
    const std::int64_t i = (index % p + p) % p;
    const std::int64_t begin = std::min(first_ + i * job.stride, end_);
    return job.buffer.slice(begin, std::min(count_, end_ - begin));
  }

  void* inbox(const Job& job) const {
    const std::int64_t bytes = job.block * static_cast<std::int64_t>(size_of(job.buffer.dtype()));
    return job.group.scratch(kInFlight * bytes) + slot_ * bytes;
  }

  void post(const Job& job) {
    const int p = job.group.size(), left = (job.group.rank() + p - 1) % p, right = (job.group.rank() + 1) % p;
    const Tensor in = block(job, incoming(job)), out = block(job, outgoing(job));
    // Messages with one tag arrive in the order in which they were sent, and neighbours start pieces in the
    // same order, so the slot is tag enough.
    TANDEM_MPI(MPI_Irecv(reducing(job) ? inbox(job) : in.data(), static_cast<int>(in.bytes()), MPI_BYTE, left,
                         slot_, job.group.comm(), &requests_[0]));
    TANDEM_MPI(MPI_Isend(out.data(), static_cast<int>(out.bytes()), MPI_BYTE, right, slot_, job.group.comm(),
                         &requests_[1]));
  }

  std::int64_t first_ = 0, count_ = 0, end_ = 0;
  int slot_ = 0, step_ = 0, last_step_ = 0;
  bool active_ = false;
  std::array<MPI_Request, 2> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

/// Sends `pieces` pieces round the ring, kInFlight at a time; `start_piece(piece, slot, k)` starts the k-th.
template <class Start>
void run(const Job& job, std::int64_t pieces, Start&& start_piece) {
  std::array<Piece, kInFlight> slots;
  Backoff backoff;
  std::int64_t started = 0, active = 0;
  do {
    bool progress = false;
    for (int slot = 0; slot < kInFlight; ++slot) {
      Piece& piece = slots[slot];
      if (piece.active() && piece.advance(job)) {
        progress = true;
        active -= !piece.active();
      }
      // Piece k always goes through slot k mod kInFlight: neighbours agree on the tag.
      if (!piece.active() && started < pieces && started % kInFlight == slot) {
        start_piece(piece, slot, started++);
        ++active;
        progress = true;
      }
    }
    if (progress) {
      backoff.progressed();
    } else {
      job.group.throw_if_abandoned();
      backoff.pause();
    }
  } while (active > 0 || started < pieces);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Most elements of one block of a piece, for a ring over `buffer`: pieces large enough to be cheap, small
/// enough that several are on their way.
std::int64_t block_limit(const Group& group, const Tensor& buffer) {
  const Limits& limits = group.limits();
  const std::int64_t element = buffer.bytes() / std::max<std::int64_t>(buffer.numel(), 1);
  const std::int64_t piece =
      std::clamp(buffer.bytes() / kInFlight, limits.least_piece_bytes, limits.most_piece_bytes);
  const std::int64_t bytes = std::min(piece / group.size(), limits.message_bytes);
  return std::max<std::int64_t>(bytes / std::max<std::int64_t>(element, 1), 1);
}

/// Reduce-scatter or all-gather: the buffer is P blocks of n/P; piece k is the k-th part of each.
void run_blockwise(Group& group, const Tensor& buffer, ReduceOp op, bool reduce) {
  const std::int64_t rank_block = buffer.numel() / group.size();
  const std::int64_t part = std::min(block_limit(group, buffer), std::max<std::int64_t>(rank_block, 1));
  const Job job{group, buffer, op, reduce, !reduce, part, rank_block};
  run(job, ceil_div(rank_block, part), [&](Piece& piece, int slot, std::int64_t k) {
    piece.start(job, slot, k * part, std::min(part, rank_block - k * part), buffer.numel());
  });
}

}  // namespace

void ring_all_reduce(Group& group, const Tensor& buffer, ReduceOp op) {
  const std::int64_t n = buffer.numel(), p = group.size();
  const std::int64_t block = std::min(block_limit(group, buffer), std::max<std::int64_t>(ceil_div(n, p), 1));
  const Job job{group, buffer, op, true, true, block, block};
  run(job, ceil_div(n, p * block),
      [&](Piece& piece, int slot, std::int64_t k) { piece.start(job, slot, k * p * block, block, n); });
}

void ring_reduce_scatter(Group& group, const Tensor& buffer, ReduceOp op) {
  run_blockwise(group, buffer, op, true);
}

void ring_all_gather(Group& group, const Tensor& buffer) {
  run_blockwise(group, buffer, ReduceOp::sum, false);
}

}  // namespace tandem::mpi

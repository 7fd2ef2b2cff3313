#include "core/comm/threads/ring.h"

#include <algorithm>
#include <cstring>

#include "core/comm/reduce.h"

namespace tandem::threads {

namespace {

/// The neighbours of one rank.
struct Seat {
  Seat(ThreadGroup& group, int rank)
      : ranks(group.size()),
        to_right(group.channel(rank, (rank + 1) % ranks)),
        from_left(group.channel((rank - 1 + ranks) % ranks, rank)) {}

  int ranks;
  Channel& to_right;
  Channel& from_left;
};

/// Block `index` (modulo the ranks) of a buffer of n elements: [n·i/P, n·(i+1)/P), all of equal size if P
/// divides n.
Tensor block(const Tensor& buffer, int index, int ranks) {
  const std::int64_t i = (index % ranks + ranks) % ranks, n = buffer.numel();
  return buffer.slice(n * i / ranks, n * (i + 1) / ranks - n * i / ranks);
}

/// Calls f(chunk) for consecutive slices of at most Channel::kChunkBytes.
template <class F>
void for_each_chunk(const Tensor& part, F&& f) {
  const std::int64_t most = Channel::kChunkBytes / static_cast<std::int64_t>(size_of(part.dtype()));
  for (std::int64_t at = 0; at < part.numel(); at += most)
    f(part.slice(at, std::min(most, part.numel() - at)));
}

void send_chunk(Channel& channel, const Tensor& chunk) {
  channel.send(static_cast<const std::byte*>(chunk.data()), chunk.bytes());
}

void copy_chunk(Channel& channel, const Tensor& chunk) {
  channel.receive([&](const std::byte* received) { std::memcpy(chunk.data(), received, chunk.bytes()); });
}

void add_chunk(Channel& channel, const Tensor& chunk, ReduceOp op) {
  channel.receive([&](const std::byte* received) {
    reduce_into(chunk.dtype(), op, chunk.data(), received, chunk.numel());
  });
}

/// One step of a ring: all of `outgoing` goes to the right while `incoming` comes from the left, a chunk of
/// each in turn, so that a channel never has to hold more than one chunk. The two may differ in size by an
/// element.
template <class Receive>
void step(const Seat& seat, const Tensor& outgoing, const Tensor& incoming, Receive&& receive) {
  const std::int64_t most = Channel::kChunkBytes / static_cast<std::int64_t>(size_of(outgoing.dtype()));
  for (std::int64_t at = 0; at < std::max(outgoing.numel(), incoming.numel()); at += most) {
    if (at < outgoing.numel())
      send_chunk(seat.to_right, outgoing.slice(at, std::min(most, outgoing.numel() - at)));
    if (at < incoming.numel()) receive(incoming.slice(at, std::min(most, incoming.numel() - at)));
  }
}

}  // namespace

// After step s, the block just received holds the sum over s + 2 ranks; it is what the next step sends on. So
// after P − 1 steps each rank has one block that has been all the way round: block `rank`.
//
//   P = 3         rank 0           rank 1           rank 2
//   step 0   sends 2, adds 1  sends 0, adds 2  sends 1, adds 0
//   step 1   sends 1, adds 0  sends 2, adds 1  sends 0, adds 2
//   done     block 0          block 1          block 2
//
// The order in which a block's terms are added depends on its place in the ring alone, never on timing, and
// each block is summed once, by one rank: all ranks get the same bits, in every run.
void ring_reduce_scatter(ThreadGroup& group, int rank, const Tensor& buffer, ReduceOp op) {
  const Seat seat(group, rank);
  for (int s = 0; s < seat.ranks - 1; ++s)
    step(seat, block(buffer, rank - 1 - s, seat.ranks), block(buffer, rank - 2 - s, seat.ranks),
         [&](const Tensor& chunk) { add_chunk(seat.from_left, chunk, op); });
}

// Each finished block goes once round the ring; a rank sends on what it received in the step before.
void ring_all_gather(ThreadGroup& group, int rank, const Tensor& buffer) {
  const Seat seat(group, rank);
  for (int s = 0; s < seat.ranks - 1; ++s)
    step(seat, block(buffer, rank - s, seat.ranks), block(buffer, rank - 1 - s, seat.ranks),
         [&](const Tensor& chunk) { copy_chunk(seat.from_left, chunk); });
}

void ring_all_reduce(ThreadGroup& group, int rank, const Tensor& buffer, ReduceOp op) {
  ring_reduce_scatter(group, rank, buffer, op);
  ring_all_gather(group, rank, buffer);
}

// Chunk by chunk round the ring, from the root to its left neighbour, who is last.
void ring_broadcast(ThreadGroup& group, int rank, const Tensor& buffer, int root) {
  const Seat seat(group, rank);
  const bool first = rank == root, last = (rank + 1) % seat.ranks == root;
  for_each_chunk(buffer, [&](const Tensor& chunk) {
    if (!first) copy_chunk(seat.from_left, chunk);
    if (!last) send_chunk(seat.to_right, chunk);
  });
}

void send(ThreadGroup& group, int rank, const Tensor& buffer, int to) {
  for_each_chunk(buffer, [&](const Tensor& chunk) { send_chunk(group.channel(rank, to), chunk); });
}

void receive(ThreadGroup& group, int rank, const Tensor& buffer, int from) {
  for_each_chunk(buffer, [&](const Tensor& chunk) { copy_chunk(group.channel(from, rank), chunk); });
}

}  // namespace tandem::threads

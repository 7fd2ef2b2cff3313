#include "core/comm/threads/thread_communicator.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/comm/reduce.h"
#include "core/comm/threads/ring.h"

namespace tandem::threads {

template <class F>
void ThreadCommunicator::enqueue(Stream& stream, F collective) {
  stream.enqueue([group = group_, rank = rank_, collective] {
    group->throw_if_aborted();
    collective(*group, rank);
  });
}

void ThreadCommunicator::all_reduce(const Tensor& buffer, ReduceOp op, Stream& stream) {
  require_reducible(buffer);
  enqueue(stream, [buffer, op](ThreadGroup& group, int rank) { ring_all_reduce(group, rank, buffer, op); });
}

void ThreadCommunicator::reduce_scatter(const Tensor& buffer, ReduceOp op, Stream& stream) {
  require_reducible(buffer);
  require_blocks(buffer, size());
  enqueue(stream,
          [buffer, op](ThreadGroup& group, int rank) { ring_reduce_scatter(group, rank, buffer, op); });
}

void ThreadCommunicator::all_gather(const Tensor& buffer, Stream& stream) {
  require_blocks(buffer, size());
  enqueue(stream, [buffer](ThreadGroup& group, int rank) { ring_all_gather(group, rank, buffer); });
}

void ThreadCommunicator::broadcast(const Tensor& buffer, int root, Stream& stream) {
  require_peer(root, size());
  enqueue(stream,
          [buffer, root](ThreadGroup& group, int rank) { ring_broadcast(group, rank, buffer, root); });
}

void ThreadCommunicator::send(const Tensor& buffer, int to, Stream& stream) {
  require_peer(to, size());
  enqueue(stream, [buffer, to](ThreadGroup& group, int rank) { threads::send(group, rank, buffer, to); });
}

void ThreadCommunicator::recv(const Tensor& buffer, int from, Stream& stream) {
  require_peer(from, size());
  enqueue(stream,
          [buffer, from](ThreadGroup& group, int rank) { threads::receive(group, rank, buffer, from); });
}

std::unique_ptr<Communicator> ThreadCommunicator::split(int color, int key, Stream& stream) {
  // Everyone tells everyone colour and key; each then finds its own place.
  std::vector<std::int64_t> all(2 * size());  // [ranks, 2]
  all[2 * rank_] = color;
  all[2 * rank_ + 1] = key;
  all_gather(Tensor::of(all.data(), {size(), 2}), stream);
  stream.synchronize();

  std::vector<std::pair<std::int64_t, int>> members;  // (key, old rank)
  for (int r = 0; r < size(); ++r)
    if (all[2 * r] == color) members.emplace_back(all[2 * r + 1], r);
  std::sort(members.begin(), members.end());
  const auto mine = std::find(members.begin(), members.end(), std::pair<std::int64_t, int>(key, rank_));
  return std::make_unique<ThreadCommunicator>(
      group_->subgroup(splits_++, color, static_cast<int>(members.size())),
      static_cast<int>(mine - members.begin()), world_rank_);
}

}  // namespace tandem::threads

#pragma once

#include <memory>

#include "core/comm/communicator.h"
#include "core/comm/threads/thread_group.h"

namespace tandem::threads {

/// One rank of a group whose ranks are threads of this process: both under one debugger, and an all-reduce
/// that can be read (ring.h).
class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadGroup> group, int rank, int world_rank)
      : group_(std::move(group)), rank_(rank), world_rank_(world_rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  std::string backend() const override { return "threads"; }

  void all_reduce(const Tensor& buffer, ReduceOp op, Stream& stream) override;
  void reduce_scatter(const Tensor& buffer, ReduceOp op, Stream& stream) override;
  void all_gather(const Tensor& buffer, Stream& stream) override;
  void broadcast(const Tensor& buffer, int root, Stream& stream) override;
  void send(const Tensor& buffer, int to, Stream& stream) override;
  void recv(const Tensor& buffer, int from, Stream& stream) override;

  std::unique_ptr<Communicator> split(int color, int key, Stream& stream) override;
  void abandon() noexcept override { group_->abort(world_rank_); }
  void abort(int) noexcept override { group_->abort(world_rank_); }

 private:
  /// Queues `collective(group, rank)`; the queued task keeps the group alive.
  template <class F>
  void enqueue(Stream& stream, F collective);

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
  int world_rank_;  // the rank in the group that all others were split from: an abort names it
  int splits_ = 0;
};

}  // namespace tandem::threads

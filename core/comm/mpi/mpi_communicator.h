#pragma once

#include <memory>

#include "core/comm/communicator.h"
#include "core/comm/mpi/mpi_group.h"

namespace tandem::mpi {

/// One rank of a group of processes. MPI is called on the comm stream's thread alone, and never in a way that
/// blocks or spins.
class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(std::shared_ptr<Group> group) : group_(std::move(group)) {}

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  std::string backend() const override { return "mpi"; }

  void all_reduce(const Tensor& buffer, ReduceOp op, Stream& stream) override;
  void reduce_scatter(const Tensor& buffer, ReduceOp op, Stream& stream) override;
  void all_gather(const Tensor& buffer, Stream& stream) override;
  void broadcast(const Tensor& buffer, int root, Stream& stream) override;
  void send(const Tensor& buffer, int to, Stream& stream) override;
  void recv(const Tensor& buffer, int from, Stream& stream) override;

  std::unique_ptr<Communicator> split(int color, int key, Stream& stream) override;
  void abandon() noexcept override { group_->abandon(); }
  /// MPI_Abort: mpirun ends every rank's process; this one too, so the call does not return.
  void abort(int exit_code) noexcept override;

 private:
  /// Queues `collective(group)`; the queued task keeps the group alive.
  template <class F>
  void enqueue(Stream& stream, F collective);

  std::shared_ptr<Group> group_;
};

}  // namespace tandem::mpi

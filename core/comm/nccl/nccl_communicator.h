#pragma once

#include <memory>
#include <nccl.h>

#include "core/comm/communicator.h"

namespace tandem::nccl {

/// NCCL's collectives on device memory; the streams must be CUDA's.
class NcclCommunicator final : public Communicator {
 public:
  /// Takes over `comm`. `control`: the same ranks, for host memory, on `control_stream`.
  NcclCommunicator(ncclComm_t comm, std::unique_ptr<Communicator> control, Stream& control_stream);
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  ~NcclCommunicator() override;

  int rank() const override { return control_->rank(); }
  int size() const override { return control_->size(); }
  std::string backend() const override { return "nccl"; }
  std::string version() const override;

  void all_reduce(const Tensor& buffer, ReduceOp op, Stream& stream) override;
  void reduce_scatter(const Tensor& buffer, ReduceOp op, Stream& stream) override;
  void all_gather(const Tensor& buffer, Stream& stream) override;
  void broadcast(const Tensor& buffer, int root, Stream& stream) override;
  void send(const Tensor& buffer, int to, Stream& stream) override;
  void recv(const Tensor& buffer, int from, Stream& stream) override;

  std::unique_ptr<Communicator> split(int color, int key, Stream& stream) override;
  Communicator& control() override { return *control_; }
  void abandon() noexcept override;
  void abort(int exit_code) noexcept override;

 private:
  ncclComm_t comm_;
  std::unique_ptr<Communicator> control_;
  Stream& control_stream_;
};

}  // namespace tandem::nccl

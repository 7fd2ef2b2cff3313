#pragma once

#include <functional>
#include <vector>

#include "core/comm/communicator.h"

namespace tandem::testing {

/// A lone rank that notes where each all-reduce went, and runs `during` as the collective, on the stream.
class FakeCommunicator final : public Communicator {
 public:
  explicit FakeCommunicator(std::function<void(int call)> during = {}) : during_(std::move(during)) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string backend() const override { return "fake"; }
  void all_reduce(const Tensor& buffer, ReduceOp, Stream& stream) override {
    buffers.push_back(buffer.data());
    if (during_) stream.enqueue([this, call = static_cast<int>(buffers.size())] { during_(call); });
  }
  void reduce_scatter(const Tensor&, ReduceOp, Stream&) override {}
  void all_gather(const Tensor&, Stream&) override {}
  void broadcast(const Tensor&, int, Stream&) override {}
  void send(const Tensor&, int, Stream&) override {}
  void recv(const Tensor&, int, Stream&) override {}
  std::unique_ptr<Communicator> split(int, int, Stream&) override {
    return std::make_unique<FakeCommunicator>();
  }
  void abandon() noexcept override {}
  void abort(int) noexcept override {}

  std::vector<const void*> buffers;  ///< of every all_reduce, in the order of the calls

 private:
  std::function<void(int)> during_;
};

}  // namespace tandem::testing

#include "bench/collectives_check.h"

#include <algorithm>
#include <vector>

namespace tandem::bench {

namespace {

constexpr std::int64_t kChunk = 1 << 20;  // elements on the host at a time

/// 0 to 15, by splitmix64's mixing function of (seed, rank, index).
float value_of(std::uint64_t seed, int rank, std::int64_t index) {
  std::uint64_t x = seed + 0x9E3779B97F4A7C15ull * (static_cast<std::uint64_t>(index) + 1) +
                    0xD1B54A32D192ED03ull * static_cast<std::uint64_t>(rank);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return static_cast<float>((x >> 60) & 15);
}

}  // namespace

CheckedCollective::CheckedCollective(Context& context, Communicator& comm, Collective op,
                                     const Tensor& buffer)
    : context_(context), comm_(comm), op_(op), buffer_(buffer) {}

void CheckedCollective::fill(std::uint64_t seed) {
  std::vector<float> host(static_cast<std::size_t>(std::min(kChunk, buffer_.numel())));
  for (std::int64_t at = 0; at < buffer_.numel(); at += kChunk) {
    const std::int64_t count = std::min(kChunk, buffer_.numel() - at);
    for (std::int64_t i = 0; i < count; ++i) host[i] = value_of(seed, comm_.rank(), at + i);
    Stream& stream = context_.compute();
    stream.copy(buffer_.slice(at, count).data(), host.data(),
                static_cast<std::size_t>(count) * sizeof(float));
    stream.synchronize();
  }
}

void CheckedCollective::call(Stream& stream) {
  switch (op_) {
    case Collective::all_reduce:
      return comm_.all_reduce(buffer_, ReduceOp::sum, stream);
    case Collective::reduce_scatter:
      return comm_.reduce_scatter(buffer_, ReduceOp::sum, stream);
    case Collective::all_gather:
      return comm_.all_gather(buffer_, stream);
    case Collective::broadcast:
      return comm_.broadcast(buffer_, 0, stream);
    case Collective::send_recv:
      if (!has_peer()) return;
      return sends() ? comm_.send(buffer_, peer(), stream) : comm_.recv(buffer_, peer(), stream);
  }
}

std::int64_t CheckedCollective::begin() const {
  return op_ == Collective::reduce_scatter ? buffer_.numel() / comm_.size() * comm_.rank() : 0;
}

std::int64_t CheckedCollective::end() const {
  return op_ == Collective::reduce_scatter ? begin() + buffer_.numel() / comm_.size() : buffer_.numel();
}

float CheckedCollective::expected(std::uint64_t seed, std::int64_t index) const {
  switch (op_) {
    case Collective::all_reduce:
    case Collective::reduce_scatter: {
      float sum = 0;
      for (int rank = 0; rank < comm_.size(); ++rank) sum += value_of(seed, rank, index);
      return sum;
    }
    case Collective::all_gather:
      return value_of(seed, static_cast<int>(index / (buffer_.numel() / comm_.size())), index);
    case Collective::broadcast:
      return value_of(seed, 0, index);
    case Collective::send_recv:
      break;
  }
  return value_of(seed, has_peer() && !sends() ? peer() : comm_.rank(), index);
}

std::int64_t CheckedCollective::count_wrong(std::uint64_t seed) {
  std::int64_t wrong = 0;
  std::vector<float> host(static_cast<std::size_t>(std::min(kChunk, end() - begin())));
  for (std::int64_t at = begin(); at < end(); at += kChunk) {
    const std::int64_t count = std::min(kChunk, end() - at);
    Stream& stream = context_.compute();
    stream.copy(host.data(), buffer_.slice(at, count).data(),
                static_cast<std::size_t>(count) * sizeof(float));
    stream.synchronize();
    for (std::int64_t i = 0; i < count; ++i) wrong += host[i] != expected(seed, at + i);
  }
  return wrong;
}

}  // namespace tandem::bench

#pragma once

#include <memory>
#include <string>

#include "core/device/context.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// sum for gradients (f32, f64, bf16, f16); min and max for control (i64, f64); sum also takes i64. A sum of
/// 16-bit numbers over P ranks is rounded P − 1 times.
enum class ReduceOp { sum, min, max };

/// A group of ranks and its collectives. Each is ordered in `stream` like any other work: the call returns at
/// once, the buffers belong to the collective until the stream gets past it, and Event or
/// Stream::synchronize() say when that is. All ranks call the same collectives in the same order with the
/// same sizes. What fails is thrown (CommError) where the stream is waited for.
///
/// Collectives work in place and know nothing of models; a group of one rank is the identity. Buffers may be
/// of any size: messages over a backend's limit (MPI: 2^31 - 1 elements) are cut up.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// "self", "threads", "mpi", "nccl": for the logs.
  virtual std::string backend() const = 0;
  /// Of the library behind it; empty where there is none.
  virtual std::string version() const { return ""; }

  /// Every rank's `buffer` becomes the element-wise reduction over all ranks, with the same bits on every
  /// rank.
  virtual void all_reduce(const Tensor& buffer, ReduceOp op, Stream& stream) = 0;
  /// `buffer` holds size() equal blocks; afterwards block rank() is reduced over all ranks, the others are
  /// undefined.
  virtual void reduce_scatter(const Tensor& buffer, ReduceOp op, Stream& stream) = 0;
  /// `buffer` holds size() equal blocks, block rank() filled by this rank; afterwards all are filled.
  virtual void all_gather(const Tensor& buffer, Stream& stream) = 0;
  virtual void broadcast(const Tensor& buffer, int root, Stream& stream) = 0;
  virtual void send(const Tensor& buffer, int to, Stream& stream) = 0;
  virtual void recv(const Tensor& buffer, int from, Stream& stream) = 0;

  /// Collective: the ranks that give the same colour form a new group, ordered by key, then by old rank.
  /// Blocks the host.
  virtual std::unique_ptr<Communicator> split(int color, int key, Stream& stream) = 0;

  /// The same ranks for buffers in host memory, on Context::control(): this group itself where its buffers
  /// are in host memory anyway. For what is agreed on outside the training step.
  virtual Communicator& control() { return *this; }

  /// This rank's pending and later collectives throw CommError soon, and their buffers are let go. With
  /// `threads` those of every rank do; with MPI the other ranks are not told (abort() does that).
  virtual void abandon() noexcept = 0;

  /// Makes every rank's pending and later collectives fail, where the backend can; ends the ranks' processes
  /// where only that helps (MPI). Called when this rank cannot go on. `exit_code` is what the processes then
  /// end with.
  virtual void abort(int exit_code) noexcept = 0;
};

/// The group of one rank: every collective is the identity.
std::unique_ptr<Communicator> make_self_communicator();

}  // namespace tandem

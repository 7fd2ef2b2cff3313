#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <mpi.h>

namespace tandem::mpi {

/// How collectives are cut up. The defaults were measured on two ranks, in shared memory and over 1 Gbit/s; a
/// test sets small ones, to see large buffers cut up without having any.
struct Limits {
  std::int64_t message_bytes = 0x7fffffff;     ///< most bytes of one MPI call, whose count is an int
  std::int64_t least_piece_bytes = 128 << 10;  ///< a ring's pieces are a quarter of the buffer, but not
  std::int64_t most_piece_bytes = 512 << 10;   ///< smaller or larger than these
};

/// An MPI communicator and what its collectives need beside it. Lives as long as the last Communicator or
/// queued collective of the group. All its calls are made on the comm stream's thread.
class Group {
 public:
  /// Takes over `comm` (and frees it, unless it is MPI_COMM_WORLD).
  Group(MPI_Comm comm, Limits limits);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  const Limits& limits() const { return limits_; }

  void abandon() noexcept { abandoned_ = true; }
  /// Throws CommError once abandon() has been called.
  void throw_if_abandoned() const;

  /// Blocks until all `requests` are complete.
  void wait_all(std::span<MPI_Request> requests) const;

  /// At least `bytes` to receive into; grows at most a few times, then stays.
  std::byte* scratch(std::int64_t bytes);

 private:
  MPI_Comm comm_;
  Limits limits_;
  int rank_ = 0, size_ = 1;
  std::atomic<bool> abandoned_{false};
  std::unique_ptr<std::byte[]> scratch_;
  std::int64_t scratch_bytes_ = 0;
};

/// How long to pause between two looks at MPI. The comm thread shares a core with the computing one, so it
/// must not spin for long; but short messages should stay short. So: for a few microseconds after the last
/// progress look again at once, then sleep for a quarter of the time waited so far, but never long.
class Backoff {
 public:
  void progressed() { last_progress_ = Clock::now(); }
  void pause() const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_progress_ = Clock::now();
};

}  // namespace tandem::mpi

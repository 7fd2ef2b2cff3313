#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace tandem::threads {

/// Set once, when a rank gives up; every blocked rank then throws CommError.
struct AbortFlag {
  static constexpr int kNobody = -1;
  std::atomic<int> rank{kNobody};  ///< the rank of the world that gave up first
};

/// A pipe from one rank to another: chunks of at most kChunkBytes, copied in by the sender and read in place
/// by the receiver. Two slots, so that one fills while the other is read. No rank ever touches another rank's
/// buffers, so a rank that fails can free its own.
class Channel {
 public:
  static constexpr std::int64_t kChunkBytes = 64 * 1024;

  explicit Channel(const AbortFlag& aborted) : aborted_(aborted) {}

  /// Blocks while both slots are full.
  void send(const std::byte* data, std::int64_t bytes);
  /// Blocks until a chunk is there, gives it to `read`, then frees its slot.
  void receive(const std::function<void(const std::byte*)>& read);

 private:
  /// Blocks until the number of filled slots is right; throws CommError when the group has been aborted.
  void wait_until(const std::function<bool(int)>& filled_is_right);
  void change_filled(int by);

  const AbortFlag& aborted_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int filled_ = 0;                               // slots with an unread chunk
  std::array<std::vector<std::byte>, 2> slots_;  // memory from the first use on
  int next_in_ = 0, next_out_ = 0;               // slot of the sender's and of the receiver's next chunk
};

}  // namespace tandem::threads

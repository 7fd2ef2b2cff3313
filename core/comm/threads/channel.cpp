#include "core/comm/threads/channel.h"

#include <chrono>
#include <cstring>

#include "core/base/error.h"

namespace tandem::threads {

void Channel::wait_until(const std::function<bool(int)>& filled_is_right) {
  std::unique_lock lock(mutex_);
  while (!filled_is_right(filled_)) {
    // An abort is rare and wakes nobody; whoever waits looks for it now and then.
    changed_.wait_for(lock, std::chrono::milliseconds(20));
    if (const int rank = aborted_.rank.load(); rank != AbortFlag::kNobody)
      throw CommError("the collective was aborted by rank {}", rank);
  }
}

void Channel::change_filled(int by) {
  std::lock_guard lock(mutex_);
  filled_ += by;
  changed_.notify_one();
}

void Channel::send(const std::byte* data, std::int64_t bytes) {
  wait_until([](int filled) { return filled < 2; });
  auto& slot = slots_[next_in_];
  slot.resize(kChunkBytes);
  std::memcpy(slot.data(), data, bytes);
  next_in_ ^= 1;
  change_filled(+1);
}

void Channel::receive(const std::function<void(const std::byte*)>& read) {
  wait_until([](int filled) { return filled > 0; });
  read(slots_[next_out_].data());
  next_out_ ^= 1;
  change_filled(-1);
}

}  // namespace tandem::threads

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/comm/threads/channel.h"

namespace tandem::threads {

/// What N ranks in one process share: a channel from each to each, and the news that one has given up. Lives
/// as long as the last communicator or queued collective of the group.
class ThreadGroup {
 public:
  explicit ThreadGroup(int size) : ThreadGroup(size, std::make_shared<AbortFlag>()) {}

  int size() const { return size_; }
  Channel& channel(int from, int to) { return *channels_[from * size_ + to]; }

  /// Makes every rank's blocked and later collectives throw, those of groups split off (or split from) too;
  /// `rank` of the world is named as the cause.
  void abort(int rank) noexcept;
  void throw_if_aborted() const;
  /// The rank that gave up first, or AbortFlag::kNobody.
  int aborted_by() const;

  /// The group that the ranks with `color` form in the `split`-th split of this group; its `size` members
  /// each ask once, the first makes it.
  std::shared_ptr<ThreadGroup> subgroup(int split, int color, int size);

 private:
  ThreadGroup(int size, std::shared_ptr<AbortFlag> aborted);

  struct Pending {
    std::shared_ptr<ThreadGroup> group;
    int missing;  // members that have not asked yet
  };

  int size_;
  std::shared_ptr<AbortFlag> aborted_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, Pending> pending_;  // by split and colour
};

}  // namespace tandem::threads

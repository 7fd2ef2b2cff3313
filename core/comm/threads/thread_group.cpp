#include "core/comm/threads/thread_group.h"

#include "core/base/error.h"

namespace tandem::threads {

ThreadGroup::ThreadGroup(int size, std::shared_ptr<AbortFlag> aborted)
    : size_(size), aborted_(std::move(aborted)) {
  for (int i = 0; i < size * size; ++i) channels_.push_back(std::make_unique<Channel>(*aborted_));
}

void ThreadGroup::abort(int rank) noexcept {
  int nobody = AbortFlag::kNobody;
  aborted_->rank.compare_exchange_strong(nobody, rank);  // the first one is named
}

int ThreadGroup::aborted_by() const {
  return aborted_->rank.load();
}

void ThreadGroup::throw_if_aborted() const {
  if (const int rank = aborted_->rank.load(); rank != AbortFlag::kNobody)
    throw CommError("the collective was aborted by rank {}", rank);
}

std::shared_ptr<ThreadGroup> ThreadGroup::subgroup(int split, int color, int size) {
  std::lock_guard lock(mutex_);
  auto& pending = pending_[{split, color}];
  if (!pending.group) pending = {std::shared_ptr<ThreadGroup>(new ThreadGroup(size, aborted_)), size};
  auto group = pending.group;
  if (--pending.missing == 0) pending_.erase({split, color});
  return group;
}

}  // namespace tandem::threads

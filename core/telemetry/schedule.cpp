#include "core/telemetry/schedule.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace tandem {

namespace {

/// The two sequences on the wall's clock: compute, which calls, and beside it the collectives of the buckets
/// that are ready.
class TwoSequences {
 public:
  TwoSequences(const StepWork& work, const LinkModel& link, const Contention& contention)
      : work_(work), link_(link), contention_(contention) {}

  double now() const { return now_; }
  std::vector<BucketTimes>& buckets() { return buckets_; }

  /// Compute works on until `us` of the step's work are done.
  void work_to(double us) {
    if (us > done_) work(us - done_);
    done_ = std::max(done_, us);
  }

  void work(double us) {
    while (us > 0) {
      if (!running()) {
        now_ += us;
        return;
      }
      const double whole = us * contention_.slowdown, until_end = left_us_ * contention_.load;
      const double wall = std::min(whole, until_end);
      us = whole <= until_end ? 0 : us - wall / contention_.slowdown;
      advance(wall, until_end <= whole ? left_us_ : wall / contention_.load);
    }
  }

  /// The next bucket is ready: its collective starts as soon as the one before has ended.
  void add_ready_bucket() {
    buckets_.push_back({.ready_us = now_});
    if (ended_ + 1 == buckets_.size()) start();
  }

  /// Compute stands still until bucket `k` has been reduced; returns for how long.
  double wait_for(std::size_t k) {
    const double before = now_;
    while (ended_ <= k) advance(left_us_, left_us_);
    return now_ - before;
  }

 private:
  bool running() const { return ended_ < buckets_.size(); }

  void start() {
    buckets_[ended_].start_us = now_;
    left_us_ = link_.us(work_.gradients[ended_].bytes);
  }

  /// `wall` passes, in which the running collective does `us` of its work.
  void advance(double wall, double us) {
    now_ += wall;
    left_us_ -= us;
    if (left_us_ > 0) return;
    buckets_[ended_++].end_us = now_;
    if (running()) start();
  }

  const StepWork& work_;
  const LinkModel& link_;
  const Contention contention_;
  double now_ = 0, done_ = 0;
  std::vector<BucketTimes> buckets_;  // that are ready
  std::size_t ended_ = 0;             // collectives; the next one runs if its bucket is ready
  double left_us_ = 0;                // of the running one's work
};

}  // namespace

StepSchedule replay(const StepWork& work, const LinkModel& link, const Contention& contention) {
  require(contention.slowdown >= 1 && contention.load >= 1, "a contention of {} and {}", contention.slowdown,
          contention.load);
  TwoSequences step(work, link, contention);
  for (const GradientWork& bucket : work.gradients) {
    step.work_to(work.overlap ? bucket.ready_us : work.backward_end_us);
    step.add_ready_bucket();
  }
  step.work_to(work.backward_end_us);

  std::vector<BucketTimes>& buckets = step.buckets();
  if (work.wait_for_all) {
    for (std::size_t k = 0; k < buckets.size(); ++k) buckets[k].wait_us = step.wait_for(k);
    step.work(work.clip_us);
  }
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    if (!work.wait_for_all) buckets[k].wait_us = step.wait_for(k);
    step.work(work.gradients[k].update_us);
    buckets[k].updated_us = step.now();
  }
  step.work(work.rest_us);

  StepSchedule schedule{.step_us = step.now(), .buckets = std::move(buckets)};
  for (const BucketTimes& bucket : schedule.buckets) {
    schedule.exposed_us += bucket.wait_us;
    schedule.busy_us += bucket.end_us - bucket.start_us;
  }
  return schedule;
}

StepWork bucketed(const StepWork& work, std::span<const std::size_t> counts) {
  require(std::accumulate(counts.begin(), counts.end(), std::size_t{0}) == work.gradients.size(),
          "the buckets do not hold the {} gradients that there are", work.gradients.size());
  StepWork buckets = work;
  buckets.gradients.clear();
  auto next = work.gradients.begin();
  for (const std::size_t count : counts) {
    GradientWork& bucket = buckets.gradients.emplace_back();
    for (std::size_t i = 0; i < count; ++i, ++next) {
      bucket.bytes += next->bytes;
      bucket.update_us += next->update_us;
      bucket.ready_us = std::max(bucket.ready_us, next->ready_us);
    }
  }
  return buckets;
}

}  // namespace tandem

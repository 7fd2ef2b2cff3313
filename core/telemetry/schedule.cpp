#include "core/telemetry/schedule.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"

namespace tandem {

namespace {

/// Compute's way through a step, on the wall's clock, beside the collectives that have been launched so far.
class Compute {
 public:
  Compute(const std::vector<BucketTimes>& launched, double slowdown)
      : launched_(launched), slowdown_(slowdown) {}

  double now() const { return now_; }

  void work(double us) {
    for (; collective_ < launched_.size() && us > 0; ++collective_) {
      const BucketTimes& c = launched_[collective_];
      if (c.end_us <= now_) continue;
      const double before = std::min(us, std::max(0.0, c.start_us - now_));  // until it starts
      now_ += before;
      us -= before;
      const double beside = std::min(us * slowdown_, c.end_us - std::max(now_, c.start_us));
      if (us <= 0) return;
      now_ += beside;
      us -= beside / slowdown_;
      if (now_ < c.end_us) return;  // done while it still runs
    }
    now_ += std::max(0.0, us);
  }

  /// Works until `us` of the step's work are done.
  void work_to(double us) {
    if (us <= done_) return;
    work(us - done_);
    done_ = us;
  }

  /// Returns how long it stood still.
  double wait_until(double us) {
    const double waited = std::max(0.0, us - now_);
    now_ += waited;
    return waited;
  }

 private:
  const std::vector<BucketTimes>& launched_;
  double slowdown_;
  double now_ = 0, done_ = 0;
  std::size_t collective_ = 0;  // the first that may not have ended yet
};

}  // namespace

Schedule replay(const StepWork& work, const LinkModel& link, double slowdown) {
  require(slowdown >= 1, "compute beside a collective takes {} times as long", slowdown);
  Schedule schedule;
  Compute compute(schedule.buckets, slowdown);
  for (const GradientWork& bucket : work.gradients) {
    compute.work_to(work.overlap ? bucket.ready_us : work.backward_end_us);
    const double before = schedule.buckets.empty() ? 0 : schedule.buckets.back().end_us;
    const double ready = compute.now(), start = std::max(ready, before), took = link.us(bucket.bytes);
    schedule.buckets.push_back({.ready_us = ready, .start_us = start, .end_us = start + took});
    schedule.busy_us += took;
  }
  compute.work_to(work.backward_end_us);

  if (work.wait_for_all) {
    for (BucketTimes& bucket : schedule.buckets) bucket.wait_us = compute.wait_until(bucket.end_us);
    compute.work(work.clip_us);
  }
  for (std::size_t k = 0; k < schedule.buckets.size(); ++k) {
    BucketTimes& bucket = schedule.buckets[k];
    if (!work.wait_for_all) bucket.wait_us = compute.wait_until(bucket.end_us);
    compute.work(work.gradients[k].update_us);
    bucket.updated_us = compute.now();
    schedule.exposed_us += bucket.wait_us;
  }
  compute.work(work.rest_us);
  schedule.step_us = compute.now();
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

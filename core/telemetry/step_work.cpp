#include "core/telemetry/step_work.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/telemetry/statistics.h"

namespace tandem {

namespace {

/// How many times as long something takes that gets `done_us` of its work done in `us`.
double times_as_long(double us, double done_us) {
  constexpr double kMost = 4;
  if (us <= 0) return 1;
  return std::clamp(us / std::max(done_us, us / kMost), 1.0, kMost);
}

const StepRecord& median_step(std::span<const StepRecord> steps) {
  require(!steps.empty(), "the median of no steps");
  std::vector<const StepRecord*> sorted;
  for (const StepRecord& step : steps) sorted.push_back(&step);
  const auto middle = sorted.begin() + std::ssize(sorted) / 2;
  std::nth_element(sorted.begin(), middle, sorted.end(),
                   [](auto* a, auto* b) { return a->step_ms < b->step_ms; });
  return **middle;
}

double end_of_backward_us(const StepRecord& step) {
  double end = 0;
  for (const PhaseSpan& span : step.phases)
    if (span.phase == Phase::backward) end = std::max(end, span.end_us);
  return end;
}

/// Each update by its end and the end of what was before it: the update before, or its own wait.
void add_timed_updates(StepWork& work, std::span<const BucketRecord> buckets) {
  double before = 0;
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    const double update = *buckets[k].applied_us - std::max(before, buckets[k].wait_end_us);
    before = *buckets[k].applied_us;
    if (work.wait_for_all && k == 0)
      work.clip_us = before - buckets.back().wait_end_us;
    else
      work.gradients[k].update_us = update;
  }
}

void share_out_updates(StepWork& work, double optimizer_us) {
  double bytes = 0;
  for (const GradientWork& g : work.gradients) bytes += g.bytes;
  for (GradientWork& g : work.gradients) g.update_us = bytes > 0 ? optimizer_us * g.bytes / bytes : 0;
}

}  // namespace

StepWork work_of(std::span<const StepRecord> steps, bool clipped, bool overlap) {
  const StepRecord& step = median_step(steps);
  require(!step.buckets.empty(), "step {} has no buckets: it was not probed", step.step);
  std::vector<BucketRecord> buckets = step.buckets;
  std::sort(buckets.begin(), buckets.end(), [](auto& a, auto& b) { return a.id < b.id; });

  StepWork work{.gradients = {}, .wait_for_all = clipped, .overlap = overlap};
  for (const BucketRecord& b : buckets) {
    work.gradients.push_back({static_cast<double>(b.bytes), b.ready_us, 0});
    work.backward_end_us = std::max(work.backward_end_us, b.ready_us);
  }
  work.backward_end_us = std::max(work.backward_end_us, end_of_backward_us(step));
  const bool timed =
      std::all_of(buckets.begin(), buckets.end(), [](auto& b) { return b.applied_us.has_value(); });
  if (timed)
    add_timed_updates(work, buckets);
  else
    share_out_updates(work, step.optimizer_ms.value_or(0) * 1e3);

  double known = work.backward_end_us + work.clip_us;
  for (const GradientWork& g : work.gradients) known += g.update_us;
  work.rest_us = std::max(0.0, (step.step_ms - step.exposed_comm_ms.value_or(0)) * 1e3 - known);
  return work;
}

double transfer_us(std::span<const std::vector<StepRecord>> ranks, std::size_t step, std::size_t reduction) {
  double least = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const BucketRecord& b = ranks[r][step].buckets.at(reduction);
    const double took = b.end_us - b.start_us;
    least = r == 0 ? took : std::min(least, took);
  }
  return least;
}

Contention contention_of(std::span<const std::vector<StepRecord>> ranks, double alone_us,
                         const LinkModel& link) {
  std::vector<double> slowdowns, loads;
  for (std::size_t k = 0; k < ranks[0].size(); ++k) {
    double work_us = 0, exposed_us = 0;  // of the rank with the most work, for which the others wait
    for (const auto& steps : ranks) {
      const double exposed = steps[k].exposed_comm_ms.value_or(0) * 1e3,
                   work = steps[k].step_ms * 1e3 - exposed;
      if (work <= work_us) continue;
      work_us = work;
      exposed_us = exposed;
    }
    double took_us = 0, by_itself_us = 0;
    for (std::size_t b = 0; b < ranks[0][k].buckets.size(); ++b) {
      took_us += transfer_us(ranks, k, b);
      by_itself_us += link.us(static_cast<double>(ranks[0][k].buckets[b].bytes));
    }
    const double beside_us = took_us - exposed_us;
    slowdowns.push_back(times_as_long(beside_us, beside_us - (work_us - alone_us)));
    loads.push_back(times_as_long(beside_us, by_itself_us - exposed_us));
  }
  require(!slowdowns.empty(), "no steps to tell contention from");
  return {.slowdown = quantile(slowdowns, 0.5), .load = quantile(loads, 0.5)};
}

}  // namespace tandem

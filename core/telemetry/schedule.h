#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/telemetry/link_fit.h"

namespace tandem {

/// A gradient (or a whole bucket's gradients) as compute makes it: its bytes, when it is final, in
/// microseconds of compute since the step's start, and how long its parameters' update takes.
struct GradientWork {
  double bytes = 0, ready_us = 0, update_us = 0;
};

/// What one rank computes in a step, without any communication.
struct StepWork {
  std::vector<GradientWork> gradients;  ///< in launch order; where a bucket is meant, one each
  double backward_end_us = 0;           ///< since the step's start; nothing becomes ready later
  double clip_us = 0;                   ///< between the last wait and the first update (clipping)
  double rest_us = 0;                   ///< after the last update, until the step's end
  bool wait_for_all = false;            ///< no update before every bucket has been reduced (clipping)
  bool overlap = true;                  ///< buckets leave during backward; else none before its end
};

/// How compute and collectives hinder each other where both are at work: each takes that many times as long.
struct Contention {
  double slowdown = 1;  ///< of compute, at least 1
  double load = 1;      ///< of collectives, at least 1
};

/// One bucket's life, in microseconds since the step's start.
struct BucketTimes {
  double ready_us = 0, start_us = 0, end_us = 0;
  double wait_us = 0;     ///< how long compute stood still for it
  double updated_us = 0;  ///< its parameters have been updated
};

struct StepSchedule {
  double step_us = 0;
  double exposed_us = 0;  ///< the sum of the buckets' wait_us
  double busy_us = 0;     ///< the time in which a collective ran
  std::vector<BucketTimes> buckets;
};

/// Replays one step of data parallelism, whose rules are these and no others:
///
/// 1. A collective of n bytes takes link.us(n) by itself.
/// 2. Compute is one sequence, collectives are another. Each advances 1 µs of its work in 1 µs; while both
/// are
///    at work, compute advances 1 µs in `slowdown`, the collective in `load`. Standing still is no work.
/// 3. A bucket is ready when compute has reached ready_us of it and of every bucket before it; without
///    overlap, backward_end_us.
/// 4. A bucket's collective starts at the later of its being ready and the end of the one before.
/// 5. After backward_end_us compute takes the buckets in order: it stands still until the bucket's collective
///    has ended, then works update_us. With wait_for_all it first stands still for all of them, then works
///    clip_us, then all updates.
/// 6. The step ends after rest_us more.
///
/// `work.gradients` are buckets here. Throws ContractError for a contention below 1.
StepSchedule replay(const StepWork& work, const LinkModel& link, const Contention& contention = {});

/// The work with gradients put together into buckets: bucket k holds the next `counts[k]` gradients; their
/// bytes and updates add up, the latest is when it is ready. Throws ContractError if the counts do not add up
/// to the number of gradients.
StepWork bucketed(const StepWork& work, std::span<const std::size_t> counts);

}  // namespace tandem

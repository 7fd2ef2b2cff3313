#pragma once

#include <span>
#include <vector>

#include "core/telemetry/link_fit.h"
#include "core/telemetry/schedule.h"
#include "core/telemetry/step_record.h"

namespace tandem {

// What the schedule's replay needs, from steps that were measured (with phases, buckets and applied_us). Pure
// functions.

/// What a rank computes in a step, by its median one: step − exposed. Each bucket is a gradient, in launch
/// order. `clipped`: all buckets are waited for before the first update; that one's time then counts as
/// clipping, as do the norm's. The step's work is the sum of the parts, so what the host does between them
/// counts as rest. Steps of a rank without anybody to talk to, whose collectives take no time, give compute
/// by itself; others give compute as it was slowed by their collectives.
///
/// Steps from a log have neither phases nor applied_us: there backward ends with the last gradient, and the
/// optimizer's time is shared out by bytes. Throws ContractError for no steps, or steps without buckets.
StepWork work_of(std::span<const StepRecord> steps, bool clipped, bool overlap);

/// Transfer time of reduction `reduction` in step `step` of the list: the least duration over ranks.
double transfer_us(std::span<const std::vector<StepRecord>> ranks, std::size_t step, std::size_t reduction);

/// How compute and collectives hindered each other in `ranks[r]`, the same steps of every rank, with
/// communication. `alone_us`: a step of the slowest rank without; `link`: the collectives by themselves.
///
/// Of a step's transfers (the least over ranks) compute stood still for the exposed part, and worked beside
/// the rest: in that time compute lost what its work took longer than alone, and collectives did what the
/// link says less the exposed part. Each from 1 to 4 (what is beyond is noise); the medians of the steps.
Contention contention_of(std::span<const std::vector<StepRecord>> ranks, double alone_us,
                         const LinkModel& link);

}  // namespace tandem

#pragma once

#include <span>
#include <string>

#include "core/telemetry/step_record.h"

namespace tandem {

/// The story of one step on each rank (--explain-step), as text of at most 100 columns: a time line of the
/// compute stream and of every bucket, then when each bucket became ready, its collective started and ended,
/// it was waited for and applied; at last, per bucket, the transfer and who waited for whom. Milliseconds
/// since each rank's own start of the step.
///
/// `ranks[r]` is rank r's record of the same step; one without buckets (--probe off or step, no DDP) gives a
/// shorter story.
std::string explain_step(std::span<const StepRecord> ranks);

}  // namespace tandem

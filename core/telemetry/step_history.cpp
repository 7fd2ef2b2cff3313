#include "core/telemetry/step_history.h"

namespace tandem {

StepHistory::StepHistory(std::int64_t steps, std::size_t reductions, std::size_t phases)
    : records_(static_cast<std::size_t>(steps)) {
  for (StepRecord& record : records_) {
    record.buckets.reserve(reductions);
    record.phases.reserve(phases);
  }
}

void StepHistory::add(const StepRecord& record) {
  if (used_ < records_.size()) records_[used_++] = record;
}

}  // namespace tandem

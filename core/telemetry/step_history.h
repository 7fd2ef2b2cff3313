#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/telemetry/step_record.h"

namespace tandem {

/// Keeps the records of a run's first steps in memory that was reserved beforehand, for the summary at its
/// end.
class StepHistory {
 public:
  /// Room for `steps` records with `reductions` buckets and `phases` phases each; later steps are not kept,
  /// larger records allocate.
  StepHistory(std::int64_t steps, std::size_t reductions, std::size_t phases);

  void add(const StepRecord& record);
  /// In the order in which they came.
  std::span<const StepRecord> records() const { return {records_.data(), used_}; }

 private:
  std::vector<StepRecord> records_;
  std::size_t used_ = 0;
};

}  // namespace tandem

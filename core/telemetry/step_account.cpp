#include "core/telemetry/step_account.h"

#include <algorithm>
#include <array>

namespace tandem {

void account_phases(StepRecord& record, std::span<const WaitSpan> waits) {
  std::array<double, kPhases> phase_us{};
  for (const PhaseSpan& span : record.phases)
    phase_us[static_cast<int>(span.phase)] += span.end_us - span.start_us;
  double exposed_us = 0;
  for (const WaitSpan& wait : waits) {
    const double us = wait.end_us - wait.start_us;
    exposed_us += us;
    if (wait.phase) phase_us[static_cast<int>(*wait.phase)] -= us;
  }
  record.data_bubble_ms = phase_us[static_cast<int>(Phase::data)] * 1e-3;
  record.forward_ms = phase_us[static_cast<int>(Phase::forward)] * 1e-3;
  record.backward_ms = phase_us[static_cast<int>(Phase::backward)] * 1e-3;
  record.optimizer_ms = phase_us[static_cast<int>(Phase::optimizer)] * 1e-3;
  record.exposed_comm_ms = exposed_us * 1e-3;
}

void account_host(StepRecord& record) {
  record.host_ms = record.step_ms - *record.data_wait_ms - *record.forward_ms - *record.backward_ms -
                   *record.exposed_comm_ms - *record.optimizer_ms;
}

double union_length(std::span<std::pair<double, double>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  double length = 0, covered_to = 0;
  for (bool first = true; const auto& [start, end] : intervals) {
    const double from = first ? start : std::max(start, covered_to);
    if (end > from) length += end - from;
    covered_to = first ? end : std::max(covered_to, end);
    first = false;
  }
  return length;
}

}  // namespace tandem

#include "core/telemetry/findings.h"

namespace tandem {

std::vector<std::string> find_causes(const Summary& summary) {
  std::vector<std::string> found;
  if (!summary.window) return found;
  for (const auto rule :
       {rules::persistent_straggler, rules::random_straggler, rules::data_bound, rules::transfer_bound,
        rules::no_overlap, rules::late_gradients, rules::latency_bound_buckets, rules::hidden_accumulation,
        rules::launch_bound, rules::clocks})
    if (auto line = rule(summary)) found.push_back(std::move(*line));
  return found;
}

}  // namespace tandem

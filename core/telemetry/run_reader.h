#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/statistics.h"
#include "core/telemetry/step_record.h"

namespace tandem {

/// A finished run as its folder tells of it (run.json and steps.rankR.jsonl).
struct Run {
  std::string directory;
  std::string model, dtype, optimizer;
  std::int64_t parameters = 0;
  std::int64_t batch = 0, accumulate = 1, global_batch = 0;  ///< b, K, B
  int ranks = 1;
  bool ddp = true, communicate = true;
  int compute_threads = 1;
  std::optional<int> cores_per_rank;  ///< that a rank may run on; of the rank with the fewest
  std::vector<std::string> injected;  ///< faults to order (--inject): its figures are no measurement
  std::optional<Window> window;       ///< --window
  /// Every effective option, and the environment, flat: the value as JSON text ("8", "adamw" without quotes),
  /// nested names joined by dots, options as in "bucket_mb".
  std::map<std::string, std::string> config, environment;
  std::vector<std::vector<StepRecord>> steps;  ///< per rank, equally many each
};

/// Reads a run's folder. Throws DataError, naming file and line, for what is no run, of another format
/// version, cut off, or ended early on some ranks.
Run read_run(const std::string& directory);

}  // namespace tandem

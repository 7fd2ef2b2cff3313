#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/run_facts.h"
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
  bool finished = true;  ///< wrote its summary; false: it was interrupted, or died
  bool ddp = true, communicate = true;
  int compute_threads = 1;
  std::vector<RankPlace> places;  ///< by rank; empty where the log does not say
  std::optional<int> host_cores;
  std::optional<int> cores_per_rank;  ///< that a rank may run on; of the rank with the fewest
  std::vector<std::string> injected;  ///< faults to order (--inject): its figures are no measurement
  std::optional<Window> window;       ///< --window
  /// Every effective option, and the environment with the program's own version, flat: the value as JSON text
  /// ("8", "adamw" without quotes), nested names joined by dots, options as in "bucket_mb".
  std::map<std::string, std::string> config, environment;
  std::vector<std::vector<StepRecord>> steps;  ///< per rank of `logged_ranks`, equally many each
  std::vector<int> logged_ranks;               ///< those whose steps could be read: all, unless salvaged
};

/// Reads a run's folder. Throws DataError, naming file and line, for what is no run, of another format
/// version, cut off, or ended early on some ranks.
Run read_run(const std::string& directory);

/// What is left of a run that may be damaged, and what is wrong with it, a line each.
struct SalvagedRun {
  Run run;
  std::vector<std::string> problems;  ///< empty: read_run() would have read it
};

/// As read_run(), but goes on with the ranks and steps that can be read. Throws DataError only where run.json
/// itself is missing, damaged, or of another version.
SalvagedRun salvage_run(const std::string& directory);

}  // namespace tandem

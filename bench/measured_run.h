#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/telemetry/run_reader.h"
#include "core/telemetry/summary.h"

namespace tandem::bench {

/// Where a run that `tandem` launched stood in its experiment; launch.json in the run's folder holds it.
struct Origin {
  int round = 0;      ///< the round of interleaved launches; runs of one round are compared as pairs
  int uncoupled = 1;  ///< how many runs like it ran at the same time, each for itself
};

/// A run and its figures, without its steps.
struct MeasuredRun {
  Run run;
  Summary summary;
  Origin origin;

  double wall_s() const { return summary.step_ms * static_cast<double>(summary.window->steps()) / 1e3; }
};

/// Reads a run and computes its figures from its step logs. Throws DataError for what is no run or too short
/// to have a window.
MeasuredRun measure(const std::string& directory);

void write_origin(const std::string& directory, const Origin& origin);

/// Writes `content`, replacing the file. Throws DataError.
void write_file(const std::string& path, const std::string& content);

}  // namespace tandem::bench

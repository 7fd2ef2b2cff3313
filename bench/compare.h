#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/suspicion.h"
#include "core/telemetry/summary.h"

namespace tandem::bench {

/// A run as far as it could be read, its figures, and what is wrong with it.
struct ComparedRun {
  Run run;
  Summary summary;
  std::vector<std::string> problems;
};

/// Reads a run that may be damaged. Throws DataError where there is nothing to read.
ComparedRun read_compared(const std::string& directory);

/// How much a part of the step changed, in milliseconds a step.
struct PartChange {
  std::string name;
  std::optional<double> a, b;
};

/// What changed between two runs. All ratios are b over a.
struct RunComparison {
  std::vector<Difference> differences;  ///< the most suspicious first
  std::vector<std::string> changed;     ///< the options of them that may change a step's time
  /// Of samples/s a rank, if both runs have figures; its interval from the scatter within the runs.
  std::optional<double> throughput_ratio;
  std::optional<Interval> throughput_ci;
  std::vector<PartChange> parts;      ///< of the step, the largest change first
  std::string verdict;                ///< "faster", "slower", "no different", or why it cannot be said
  std::vector<std::string> findings;  ///< "two changes at once: …", "regression: …"
};

RunComparison compare_runs(const ComparedRun& a, const ComparedRun& b);

/// A run's figures, findings and problems.
std::string describe(const ComparedRun& run);
std::string to_text(const RunComparison& comparison, const ComparedRun& a, const ComparedRun& b);

}  // namespace tandem::bench

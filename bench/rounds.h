#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/launch.h"
#include "bench/measured_run.h"

namespace tandem::bench {

/// One thing to measure: `copies` runs of `ranks` ranks with these options, all at the same time.
struct Configuration {
  std::string name;   ///< of its folders, unique in an experiment
  std::string label;  ///< for progress lines
  int ranks = 1;
  int copies = 1;
  TrainOptions options;
};

/// Launches configurations in interleaved rounds, so that whatever changes on the machine meanwhile hits all
/// of them; odd rounds go backwards, so that none is always the first. Runs lie in <folder>/runs/.
class Rounds {
 public:
  /// `most_ranks`: cores are shared out for that many ranks, the same for a rank of every configuration.
  /// `progress` gets a line before and after each launch.
  Rounds(Launcher launcher, std::string folder, std::vector<Configuration> configurations, int most_ranks,
         std::function<void(const std::string&)> progress);

  /// The runs of round `round` (from 1) of `rounds`: result[c] holds configuration c's copies.
  std::vector<std::vector<MeasuredRun>> run(int round, int rounds);

 private:
  std::vector<MeasuredRun> launch(const Configuration& configuration, int round) const;

  Launcher launcher_;
  std::string folder_;
  std::vector<Configuration> configurations_;
  int most_ranks_;
  std::function<void(const std::string&)> progress_;
};

/// A new folder for an experiment's files: `given`, which must be missing or empty, or runs/<kind>-<time>.
/// Throws UsageError.
std::string make_folder(const std::string& given, const std::string& kind);

}  // namespace tandem::bench

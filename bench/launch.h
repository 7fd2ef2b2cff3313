#pragma once

#include <string>
#include <vector>

#include "bench/process.h"
#include "bench/train_options.h"

namespace tandem::bench {

/// How `train` is started.
struct Launcher {
  std::string train;   ///< the program
  std::string prefix;  ///< --launcher: words in place of mpirun, "{np}" in them is the number of ranks;
                       ///< without it "-np N" is appended. Empty: mpirun on this host

  bool local() const { return prefix.empty(); }

  /// `ranks` ranks that write their run into `log_dir` and their output into `output`, on `cores` (only
  /// where the launcher is local).
  Command command(int ranks, const TrainOptions& options, const std::string& log_dir,
                  const std::string& output, const std::vector<int>& cores) const;
};

/// `--train` if given, else `train` beside this program. Throws UsageError if there is none.
std::string find_train(const std::string& given);

/// The first `ranks` shares of this host's cores, cut into `most_ranks` shares: so a rank has the same cores
/// at every number of ranks.
std::vector<int> cores_for(int ranks, int most_ranks);
/// One such share.
std::vector<int> cores_of_share(int index, int most_ranks);

}  // namespace tandem::bench

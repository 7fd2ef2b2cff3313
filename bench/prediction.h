#pragma once

#include <string>
#include <vector>

#include "core/telemetry/prediction.h"

namespace tandem::bench {

/// `tandem scaling --predict`: the step at numbers of ranks that were not run.
struct PredictionReport {
  std::int64_t batch = 0;  ///< b, the same at every number of ranks
  Calibration calibration;
  int measured_ranks = 2;  ///< of the runs with several ranks
  double measured_ms = 0;  ///< their step time
  Prediction check;        ///< what is predicted for them
  std::vector<Prediction> predictions;
  std::vector<std::string> assumptions;
};

/// From finished runs: those of one rank with buckets, and those of the most ranks with the same b. `links`:
/// a file with the network (or empty: the link that the buckets of the runs saw), either what `tandem
/// collectives --json` wrote, or {"levels": [{"ranks": 8, "alpha_us": 5, "gb_s": 150}, …]}. Throws UsageError
/// or DataError.
PredictionReport predict(const std::vector<std::string>& runs, const std::vector<int>& ranks,
                         const std::string& links);

std::string to_text(const PredictionReport& report);
std::string to_json(const PredictionReport& report);

}  // namespace tandem::bench

#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/telemetry/run_facts.h"
#include "core/telemetry/summary.h"

namespace tandem {

/// The buckets really made, a line each, in launch order: what they put on the wire where that is not their
/// size, and what else a step communicates.
std::string bucket_table(const RunFacts& facts);

struct ReportFacts {
  int ranks = 1;
  std::string folder = {};                 ///< of the logs
  std::vector<std::string> injected = {};  ///< faults to order
  std::string scaling_command = {};        ///< gives the scaling efficiency of what has just run
  std::string outlook = {};                ///< outlook(): the step at other numbers of ranks
  bool utf8 = false;                       ///< as ConsoleStyle
  double model_flop = 0;                   ///< as RunFacts
  std::optional<double> peak_flops = {}, product_flops = {};
};

/// What a run's end says: the stable window's step times, throughput, where the time went, and what to do
/// next.
std::string run_report(const Summary& summary, const ReportFacts& facts);

}  // namespace tandem

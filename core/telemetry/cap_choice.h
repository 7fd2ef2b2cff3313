#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/schedule.h"
#include "core/telemetry/statistics.h"
#include "core/telemetry/step_work.h"

namespace tandem {

/// One cap that --bucket-mb auto considered.
struct CapCandidate {
  double cap_mb = 0;
  std::size_t buckets = 0;
  double predicted_ms = 0;
  std::vector<double> measured_ms = {};  ///< a step in each round; empty: not tried
  std::optional<Interval> ratio = {};    ///< of its step time to the standard cap's; all hold together
};

/// Why a run has the cap that it has.
struct CapChoice {
  int ranks = 1;
  LinkModel link;
  Contention contention;
  StepWork work;                            ///< each gradient by itself
  std::vector<std::string> gradient_names;  ///< of work.gradients
  std::vector<CapCandidate> candidates;     ///< one for each different plan of buckets, by cap
  std::size_t standard = 0;                 ///< index of the cap that would be taken without evidence
  std::size_t chosen = 0;
  std::string reason;

  double cap_mb() const { return candidates.at(chosen).cap_mb; }
};

/// The candidates worth trying, the standard one first: of the others the three that are predicted best, as
/// far as within 5% of the best prediction. Indexes.
std::vector<std::size_t> worth_trying(const CapChoice& choice);

/// Computes the ratios of what has been measured, and chooses: the fastest cap whose ratio's interval lies
/// below 1, else the standard one.
void decide(CapChoice& choice);

/// The evidence as a short table, and as JSON for run.json.
std::string cap_table(const CapChoice& choice);
std::string to_json(const CapChoice& choice);

}  // namespace tandem

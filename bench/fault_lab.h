#pragma once

#include <set>
#include <string>
#include <vector>

#include "bench/train_options.h"

namespace tandem::bench {

/// One experiment of the fault laboratory: a run with a known fault, and what the doctor is to say of it.
struct Scenario {
  std::string name;
  std::string expected;             ///< the finding's name; empty: a healthy control, no finding
  std::set<std::string> tolerated;  ///< what follows from the fault as well, and counts for nothing
  std::vector<std::string> options;
  bool one_core = false;  ///< all ranks on one core
};

/// All of them, for two ranks on a CPU.
std::vector<Scenario> fault_scenarios();

/// The options of a scenario's run: a small model's, those of the user, the scenario's own.
TrainOptions options_of(const Scenario& scenario, const TrainOptions& user);

/// A scenario's outcome.
struct Diagnosed {
  Scenario scenario;
  std::vector<std::string> found;  ///< names of the findings, without those tolerated
  bool hit() const;                ///< exactly what was expected
};

struct LabScore {
  int right = 0, missed = 0,
      wrong = 0;  ///< findings: expected and made, expected and not made, made and not expected
  int healthy = 0, healthy_clean = 0;  ///< controls, and those without a finding
  double precision() const { return right + wrong > 0 ? static_cast<double>(right) / (right + wrong) : 1; }
  double recall() const { return right + missed > 0 ? static_cast<double>(right) / (right + missed) : 1; }
};
LabScore score(const std::vector<Diagnosed>& runs);

/// "straggler" of "straggler: rank 1 …".
std::string name_of_finding(const std::string& line);

/// The confusion matrix (a row each scenario, a column each finding that was expected or made), and the
/// score.
std::string to_text(const std::vector<Diagnosed>& runs);

}  // namespace tandem::bench

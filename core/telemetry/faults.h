#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

/// Faults to order (--inject): they make a run's figures no measurement, and are marked in its logs.
class Faults {
 public:
  Faults() = default;
  /// Each text is slow=RANK:MS (the rank sleeps MS milliseconds in every step) or throw=RANK@STEP (it fails
  /// at the start of that step). Throws UsageError for anything else, and for a rank that is not below
  /// `ranks`.
  Faults(const std::vector<std::string>& specs, int ranks);

  /// Right after the step's start: sleeps, or throws Error.
  void before_step(int rank, std::int64_t step) const;

  bool empty() const { return faults_.empty(); }
  /// As they were ordered: "slow=1:20".
  std::vector<std::string> describe() const;

 private:
  struct Fault {
    std::string spec;
    int rank = 0;
    double sleep_ms = 0;           // 0: it throws
    std::int64_t throw_step = -1;  // -1: it sleeps
  };
  static Fault parse(const std::string& spec);

  std::vector<Fault> faults_;
};

}  // namespace tandem

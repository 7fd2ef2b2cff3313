#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// What a link carries one way, and what each collective costs besides.
struct LinkSpeed {
  double bytes_per_s = 0, latency_us = 0;
};

/// Faults to order (--inject): they make a run's figures no measurement, and are marked in its logs.
///
/// | spec            | what happens                                                                     |
/// |-----------------|----------------------------------------------------------------------------------|
/// | slow=RANK:MS    | the rank sleeps MS milliseconds in every step; RANK `any`: in every step another  |
/// | stall=loader:MS | every batch comes MS milliseconds late, on all ranks                             |
/// | link=RATE[+Nus] | "1gbit", "10gbit+300us": a collective takes as long as on that link (SlowLink)    |
/// | nan=RANK@STEP   | the rank's gradients of that step are NaN                                         |
/// | throw=RANK@STEP | the rank fails at the start of that step                                          |
class Faults {
 public:
  Faults() = default;
  /// Throws UsageError for anything else, and for a rank that is not below `ranks`.
  Faults(const std::vector<std::string>& specs, int ranks);

  /// Right after the step's start: sleeps, or throws Error.
  void before_step(int rank, std::int64_t step) const;
  /// Where a step takes its batch from the loader: sleeps.
  void before_batch() const;
  /// The loss seed of a step: `seed`, or NaN.
  double seed(int rank, std::int64_t step, double seed) const;
  /// The slowest link ordered.
  std::optional<LinkSpeed> link() const;

  bool empty() const { return faults_.empty(); }
  /// As they were ordered: "slow=1:20".
  std::vector<std::string> describe() const;

 private:
  enum class Kind { slow, stall, link, nan, fail };
  struct Fault {
    std::string spec;
    Kind kind = Kind::slow;
    int rank = 0;           // kAny: in every step another
    double ms = 0;          // slow, stall
    std::int64_t step = 0;  // nan, fail
    LinkSpeed link = {};
  };
  static constexpr int kAny = -1;
  static std::optional<Fault> parse(const std::string& spec);

  int ranks_ = 1;
  std::vector<Fault> faults_;
};

/// "1gbit", "200mbit" (10^6 bits), "10MB", "1.5GB/s" (10^6 bytes), each with "+300us" behind it or not; empty
/// for anything else and for rates that are not above 0.
std::optional<LinkSpeed> parse_link(std::string_view text);

}  // namespace tandem

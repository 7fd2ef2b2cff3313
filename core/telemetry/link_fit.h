#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

/// How long one collective of one size took.
struct LinkSample {
  double bytes = 0, us = 0;
};

/// From `from_bytes` to the next segment's a collective of n bytes takes alpha_us + beta_us_per_byte · n. In
/// all segments but the first alpha is where the line meets the axis, no latency, and may be negative.
struct LinkSegment {
  double from_bytes = 0, alpha_us = 0, beta_us_per_byte = 0;
};

/// The time of one collective among one group of ranks as a function of its size: α–β lines, one for each
/// regime of the link (latency, bandwidth, and what a change of protocol or a cache puts between).
struct LinkModel {
  std::vector<LinkSegment> segments;  ///< by size; the first starts at 0. None: collectives take no time
  double worst_error = 0;             ///< largest relative difference from a sample that it was fitted to

  double us(double bytes) const;
  /// The smallest collective's time: the latency α.
  double latency_us() const { return segments.empty() ? 0 : segments.front().alpha_us; }
  /// For large messages, in 10^9 bytes of the buffer a second (algbw).
  double bandwidth_gb_s() const;
  /// α of the first segment / β of the last: a collective of this size spends as long on latency as on
  /// bandwidth. Buckets smaller than this are latency-bound.
  double half_bandwidth_bytes() const;
};

/// Least squares of relative errors over up to three segments. Their number is the one with the lowest
/// Bayesian information criterion, where differences of 1% count as noise, so a straight line stays one
/// segment. Two neighbouring segments meet where their lines cross, if that is between the samples on either
/// side, else halfway (geometrically) between these. No line falls with size. `samples` need not be sorted;
/// sizes and times are above 0. Throws ContractError for fewer than two samples or two of one size.
LinkModel fit_link(std::span<const LinkSample> samples);

}  // namespace tandem

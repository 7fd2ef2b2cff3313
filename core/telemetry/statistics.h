#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tandem {

// Figures with intervals as docs/measuring.md defines them. Pure functions.

struct Interval {
  double low = 0, high = 0;
};

double mean(std::span<const double> values);
/// The q-quantile (0 ≤ q ≤ 1), linear between order statistics (type 7, as numpy's default).
double quantile(std::span<const double> values, double q);

/// 95% interval of the mean of an autocorrelated series: Student's t over ten batch means. Needs 20 values.
std::optional<Interval> batch_means_interval(std::span<const double> series);
/// 95% interval of the mean of independent launches: Student's t. Needs two.
std::optional<Interval> launch_interval(std::span<const double> launches);
/// 95% interval of a/b for paired (interleaved) launches: Student's t over the logarithms of the pairs'
/// ratios. Needs two pairs.
std::optional<Interval> ratio_interval(std::span<const double> a, std::span<const double> b);

/// The steps over which a run's figures are taken.
struct Window {
  std::int64_t first = 0, last = 0;  ///< inclusive, zero-based
  bool shortened = false;            ///< "short window": not the 50 to 249 of a full run
  std::int64_t steps() const { return last - first + 1; }
};

/// Steps 50 to 249 by default; a shorter run takes its last 60% after at least 10 warm-up steps; under 15
/// steps there is none.
std::optional<Window> stable_window(std::int64_t steps_run);

/// MSER-5: the truncation point (in values) that minimises the standard error of the rest, over batches of 5
/// (White 1997).
std::int64_t mser5_truncation(std::span<const double> series);
/// Theil–Sen slope times length over median: the relative drift over the series.
double theil_sen_drift(std::span<const double> series);
/// Indexes of values more than five median absolute deviations from the median.
std::vector<std::int64_t> outliers(std::span<const double> series);

}  // namespace tandem

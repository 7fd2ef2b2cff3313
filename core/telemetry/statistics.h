#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tandem {

// Figures with intervals as docs/measuring.md defines them. Pure functions.

struct Interval {
  double low = 0, high = 0;
  bool contains(double value) const { return low <= value && value <= high; }
  double half_width() const { return (high - low) / 2; }
};

inline constexpr double kConfidence = 0.95;

double mean(std::span<const double> values);
/// Sample standard deviation (n − 1); 0 for a single value.
double standard_deviation(std::span<const double> values);
/// The q-quantile (0 ≤ q ≤ 1), linear between order statistics (type 7, as numpy's default).
double quantile(std::span<const double> values, double q);

/// The t with P(|T| ≤ t) = `confidence` for Student's T with `degrees` ≥ 1 degrees of freedom.
double student_t(double confidence, int degrees);

/// 95% interval of the mean of an autocorrelated series: Student's t over ten batch means. Needs 20 values.
std::optional<Interval> batch_means_interval(std::span<const double> series);
/// 95% interval of the mean of independent launches: Student's t. Needs two.
std::optional<Interval> launch_interval(std::span<const double> launches);
/// 95% interval of a/b for paired (interleaved) launches: Student's t over the logarithms of the pairs'
/// ratios. Needs two pairs; all values are positive.
std::optional<Interval> ratio_interval(std::span<const double> a, std::span<const double> b);

/// The interval of configuration a over configuration b where several were measured in the same interleaved
/// rounds: launches[c][r] is configuration c in round r. What all configurations of a round share (a busy
/// machine) drops out, and the scatter that is left is pooled over all of them (a randomised block design),
/// or that of the pair alone where it is larger. With two configurations this is ratio_interval(). Needs two
/// rounds. `confidence` is for this one comparison: see bonferroni().
std::optional<Interval> block_ratio_interval(std::span<const std::vector<double>> launches, std::size_t a,
                                             std::size_t b, double confidence = kConfidence);
/// The confidence of each of `comparisons` intervals such that all hold together with 95%.
double bonferroni(std::size_t comparisons);

/// The steps over which a run's figures are taken.
struct Window {
  std::int64_t first = 0, last = 0;  ///< inclusive, zero-based
  bool shortened = false;            ///< "short window": not the 50 to 249 of a full run
  std::int64_t steps() const { return last - first + 1; }
  bool operator==(const Window&) const = default;
};

/// Steps 50 to 249 by default; a shorter run takes its last 60% after at least 10 warm-up steps; under 15
/// steps there is none.
std::optional<Window> stable_window(std::int64_t steps_run);
/// "FIRST:LAST" as --window writes it. Throws UsageError.
Window parse_window(std::string_view text);

/// The truncation point (in values, at most half of them) that minimises the standard error of the rest, over
/// batches of 5: how much of the series' start is still warm-up. MSER-5, White (1997).
std::int64_t mser5_truncation(std::span<const double> series);
/// Theil–Sen slope times length over median: the relative drift over the series. Of a series longer than 2000
/// every second (third, …) value is taken, as the cost is quadratic.
double theil_sen_drift(std::span<const double> series);
/// Indexes of values more than five median absolute deviations from the median.
std::vector<std::int64_t> outliers(std::span<const double> series);

}  // namespace tandem

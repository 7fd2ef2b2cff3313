#include "core/telemetry/statistics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/base/error.h"

namespace tandem {
namespace {

constexpr std::int64_t kFirst = 50, kLast = 249, kWarmup = 10, kFewest = 15;

/// P(|T| ≤ t): the finite sums for whole degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4).
double student_t_probability(double t, int degrees) {
  const double theta = std::atan(t / std::sqrt(degrees)), cosine = std::cos(theta);
  const bool odd = degrees % 2 == 1;
  if (degrees == 1) return 2 * theta / std::numbers::pi;
  double term = odd ? cosine : 1, sum = term;
  for (int k = odd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= cosine * cosine * (k - 1) / k;
    sum += term;
  }
  sum *= std::sin(theta);
  return odd ? 2 / std::numbers::pi * (theta + sum) : sum;
}

std::optional<Interval> student_interval(std::span<const double> values, double centre) {
  if (values.size() < 2) return std::nullopt;
  const double n = static_cast<double>(values.size());
  const double half =
      student_t(kConfidence, static_cast<int>(n) - 1) * standard_deviation(values) / std::sqrt(n);
  return Interval{centre - half, centre + half};
}

std::vector<double> log_ratios(std::span<const double> a, std::span<const double> b) {
  require(a.size() == b.size(), "pairs need equal numbers of launches, not {} and {}", a.size(), b.size());
  std::vector<double> logs(a.size());
  std::transform(a.begin(), a.end(), b.begin(), logs.begin(),
                 [](double x, double y) { return std::log(x / y); });
  return logs;
}

/// Standard deviation of one launch's logarithm about its configuration's and its round's mean.
double pooled_deviation(std::span<const std::vector<double>> launches) {
  const std::size_t configurations = launches.size(), rounds = launches[0].size();
  std::vector<double> of_configuration(configurations), of_round(rounds);
  for (std::size_t c = 0; c < configurations; ++c)
    for (std::size_t r = 0; r < rounds; ++r) {
      of_configuration[c] += std::log(launches[c][r]) / static_cast<double>(rounds);
      of_round[r] += std::log(launches[c][r]) / static_cast<double>(configurations);
    }
  const double grand = mean(of_round);
  double squares = 0;
  for (std::size_t c = 0; c < configurations; ++c)
    for (std::size_t r = 0; r < rounds; ++r)
      squares += std::pow(std::log(launches[c][r]) - of_configuration[c] - of_round[r] + grand, 2);
  return std::sqrt(squares / static_cast<double>((configurations - 1) * (rounds - 1)));
}

}  // namespace

double mean(std::span<const double> values) {
  require(!values.empty(), "the mean of nothing");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double centre = mean(values);
  double squares = 0;
  for (const double v : values) squares += (v - centre) * (v - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double quantile(std::span<const double> values, double q) {
  require(!values.empty() && q >= 0 && q <= 1, "the {}-quantile of {} values", q, values.size());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double student_t(double confidence, int degrees) {
  require(confidence > 0 && confidence < 1 && degrees >= 1, "Student's t for {} with {} degrees of freedom",
          confidence, degrees);
  double low = 0, high = 1;
  while (student_t_probability(high, degrees) < confidence) high *= 2;
  while (high - low > 1e-13 * high) {  // bisection: the probability rises with t
    const double middle = (low + high) / 2;
    (student_t_probability(middle, degrees) < confidence ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::optional<Interval> batch_means_interval(std::span<const double> series) {
  constexpr std::size_t kBatches = 10;
  if (series.size() < 2 * kBatches) return std::nullopt;
  std::vector<double> means(kBatches);
  for (std::size_t i = 0; i < kBatches; ++i) {
    const std::size_t begin = i * series.size() / kBatches, end = (i + 1) * series.size() / kBatches;
    means[i] = mean(series.subspan(begin, end - begin));
  }
  return student_interval(means, mean(series));
}

std::optional<Interval> launch_interval(std::span<const double> launches) {
  if (launches.size() < 2) return std::nullopt;
  return student_interval(launches, mean(launches));
}

std::optional<Interval> ratio_interval(std::span<const double> a, std::span<const double> b) {
  const auto logs = log_ratios(a, b);
  const auto interval = launch_interval(logs);
  if (!interval) return std::nullopt;
  return Interval{std::exp(interval->low), std::exp(interval->high)};
}

std::optional<Interval> block_ratio_interval(std::span<const std::vector<double>> launches, std::size_t a,
                                             std::size_t b, double confidence) {
  require(a < launches.size() && b < launches.size() && a != b, "no such pair of configurations");
  const auto rounds = launches[a].size();
  for (const auto& l : launches) require(l.size() == rounds, "each round needs every configuration");
  if (rounds < 2) return std::nullopt;
  const auto logs = log_ratios(launches[a], launches[b]);
  const double deviation =
      std::max(standard_deviation(logs), std::numbers::sqrt2 * pooled_deviation(launches));
  const auto degrees = static_cast<int>((launches.size() - 1) * (rounds - 1));
  const double half = student_t(confidence, degrees) * deviation / std::sqrt(static_cast<double>(rounds));
  const double centre = mean(logs);
  return Interval{std::exp(centre - half), std::exp(centre + half)};
}

double bonferroni(std::size_t comparisons) {
  return 1 - (1 - kConfidence) / static_cast<double>(std::max<std::size_t>(comparisons, 1));
}

std::optional<Window> stable_window(std::int64_t steps_run) {
  if (steps_run < kFewest) return std::nullopt;
  if (steps_run > kLast) return Window{kFirst, kLast, false};
  const std::int64_t tail = steps_run * 6 / 10;
  return Window{std::max(kWarmup, steps_run - tail), steps_run - 1, true};
}

Window parse_window(std::string_view text) {
  Window window;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, window.first);
  const bool colon = first.ec == std::errc{} && first.ptr != end && *first.ptr == ':';
  const auto last = colon ? std::from_chars(first.ptr + 1, end, window.last) : first;
  if (!colon || last.ec != std::errc{} || last.ptr != end || window.first < 0 || window.last < window.first)
    throw UsageError("--window {}: give the first and the last step, as in --window 50:249", text);
  return window;
}

std::int64_t mser5_truncation(std::span<const double> series) {
  constexpr std::size_t kBatch = 5;
  const std::size_t batches = series.size() / kBatch;
  std::vector<double> means(batches);
  for (std::size_t i = 0; i < batches; ++i) means[i] = mean(series.subspan(i * kBatch, kBatch));

  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t cut = 0; cut <= batches / 2 && cut + 1 < batches; ++cut) {
    const auto rest = std::span<const double>(means).subspan(cut);
    const double n = static_cast<double>(rest.size()), deviation = standard_deviation(rest);
    const double squared_error = deviation * deviation * (n - 1) / (n * n);
    if (squared_error < least) {
      least = squared_error;
      best = cut;
    }
  }
  return static_cast<std::int64_t>(best * kBatch);
}

double theil_sen_drift(std::span<const double> series) {
  constexpr std::size_t kMost = 2000;
  require(!series.empty(), "the drift of nothing");
  const std::size_t n = series.size(), stride = 1 + (n - 1) / kMost;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < n; i += stride)
    for (std::size_t j = i + stride; j < n; j += stride)
      slopes.push_back((series[j] - series[i]) / static_cast<double>(j - i));
  if (slopes.empty()) return 0;
  return quantile(slopes, 0.5) * static_cast<double>(n) / quantile(series, 0.5);
}

std::vector<std::int64_t> outliers(std::span<const double> series) {
  if (series.empty()) return {};
  const double median = quantile(series, 0.5);
  std::vector<double> deviations(series.size());
  std::transform(series.begin(), series.end(), deviations.begin(),
                 [median](double v) { return std::abs(v - median); });
  const double limit = 5 * quantile(deviations, 0.5);
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < deviations.size(); ++i)
    if (deviations[i] > limit) found.push_back(static_cast<std::int64_t>(i));
  return found;
}

}  // namespace tandem

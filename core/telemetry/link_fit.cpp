#include "core/telemetry/link_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"

namespace tandem {

namespace {

constexpr std::size_t kMostSegments = 3;
constexpr std::size_t kFewestSamples = 3;  // of a segment, where there are several
constexpr double kNoise = 0.01;            // relative

using Samples = std::span<const LinkSample>;

struct Line {
  double alpha = 0, beta = 0;
  double squares = 0;  // of relative errors

  double us(double bytes) const { return alpha + beta * bytes; }
};

Line with_error(double alpha, double beta, Samples samples) {
  Line line{alpha, beta};
  for (const auto& s : samples) line.squares += std::pow(line.us(s.bytes) / s.us - 1, 2);
  return line;
}

/// The line through `samples` with the least squares of relative errors: weights 1/us². It does not fall and,
/// with `latency`, does not start below 0.
Line fit_line(Samples samples, bool latency) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const auto& s : samples) {
    const double weight = 1 / (s.us * s.us);
    w += weight;
    wx += weight * s.bytes;
    wy += weight * s.us;
    wxx += weight * s.bytes * s.bytes;
    wxy += weight * s.bytes * s.us;
  }
  const double determinant = w * wxx - wx * wx;
  const double beta = determinant > 0 ? (w * wxy - wx * wy) / determinant : 0;
  if (beta <= 0) return with_error(wy / w, 0, samples);
  const double alpha = (wy - beta * wx) / w;
  if (latency && alpha < 0) return with_error(0, wxy / wxx, samples);
  return with_error(alpha, beta, samples);
}

/// A fit of the first samples: the lines, and where each one's samples begin.
struct Fit {
  double squares = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> begins;
  std::vector<Line> lines;
};

/// The best fit with exactly `count` segments: the last one is tried from every place, before it stands the
/// best fit with one segment fewer. best[c][n] is the best of the first n samples with c + 1 segments.
Fit best_fit(Samples samples, std::size_t count) {
  const std::size_t n = samples.size();
  std::vector<Fit> best(n + 1);
  for (std::size_t end = 2; end <= n; ++end) {
    const Line line = fit_line(samples.first(end), /*latency=*/true);
    best[end] = {line.squares, {0}, {line}};
  }
  for (std::size_t c = 1; c < count; ++c) {
    std::vector<Fit> longer(n + 1);
    for (std::size_t end = (c + 1) * kFewestSamples; end <= n; ++end)
      for (std::size_t begin = c * kFewestSamples; begin + kFewestSamples <= end; ++begin) {
        const Line line = fit_line(samples.subspan(begin, end - begin), /*latency=*/false);
        if (best[begin].squares + line.squares >= longer[end].squares) continue;
        longer[end] = best[begin];
        longer[end].squares += line.squares;
        longer[end].begins.push_back(begin);
        longer[end].lines.push_back(line);
      }
    best = std::move(longer);
  }
  return best[n];
}

/// n·ln(variance) + parameters·ln(n): each segment has two parameters, and a border to the one before.
double information_criterion(const Fit& fit, std::size_t samples, std::size_t segments) {
  const double n = static_cast<double>(samples);
  return n * std::log(fit.squares / n + kNoise * kNoise) +
         (3 * static_cast<double>(segments) - 1) * std::log(n);
}

double border(const Line& left, const Line& right, const LinkSample& last, const LinkSample& first) {
  if (left.beta != right.beta) {
    const double crossing = (right.alpha - left.alpha) / (left.beta - right.beta);
    if (crossing >= last.bytes && crossing <= first.bytes) return crossing;
  }
  return std::sqrt(last.bytes * first.bytes);
}

}  // namespace

double LinkModel::us(double bytes) const {
  if (segments.empty()) return 0;
  const auto after = std::partition_point(segments.begin() + 1, segments.end(),
                                          [&](const LinkSegment& s) { return s.from_bytes <= bytes; });
  const LinkSegment& segment = *std::prev(after);
  return segment.alpha_us + segment.beta_us_per_byte * bytes;
}

double LinkModel::bandwidth_gb_s() const {
  return segments.empty() ? std::numeric_limits<double>::infinity() : 1e-3 / segments.back().beta_us_per_byte;
}

double LinkModel::half_bandwidth_bytes() const {
  return segments.empty() ? 0 : latency_us() / segments.back().beta_us_per_byte;
}

LinkModel fit_link(std::span<const LinkSample> samples) {
  std::vector<LinkSample> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.bytes < b.bytes; });
  require(sorted.size() >= 2, "a line through {} sizes", sorted.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    require(sorted[i].bytes > 0 && sorted[i].us > 0, "{} bytes in {} us", sorted[i].bytes, sorted[i].us);
    require(i == 0 || sorted[i].bytes > sorted[i - 1].bytes, "{} bytes twice", sorted[i].bytes);
  }

  Fit fit;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t segments = 1; segments <= kMostSegments; ++segments) {
    if (segments > 1 && sorted.size() < segments * kFewestSamples) break;
    Fit candidate = best_fit(sorted, segments);
    const double criterion = information_criterion(candidate, sorted.size(), segments);
    if (criterion >= lowest) continue;
    lowest = criterion;
    fit = std::move(candidate);
  }

  LinkModel model;
  for (std::size_t i = 0; i < fit.lines.size(); ++i) {
    const std::size_t begin = fit.begins[i];
    const double from = i == 0 ? 0 : border(fit.lines[i - 1], fit.lines[i], sorted[begin - 1], sorted[begin]);
    model.segments.push_back({from, fit.lines[i].alpha, fit.lines[i].beta});
  }
  for (const auto& s : sorted)
    model.worst_error = std::max(model.worst_error, std::abs(model.us(s.bytes) / s.us - 1));
  return model;
}

}  // namespace tandem

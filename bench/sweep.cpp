#include "bench/sweep.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"

namespace tandem::bench {
namespace {

using Times = std::vector<std::vector<double>>;  // [point][round], ms

std::vector<double> times_of(const SweepPoint& point) {
  std::vector<double> times;
  for (const auto& launch : point.launches) times.push_back(launch.summary.step_ms);
  return times;
}

std::map<std::int64_t, std::vector<std::size_t>> by_batch(const std::vector<SweepPoint>& points) {
  std::map<std::int64_t, std::vector<std::size_t>> families;
  for (std::size_t i = 0; i < points.size(); ++i) families[points[i].batch].push_back(i);
  return families;
}

/// The fastest is chosen after looking, so any pair may turn out to be compared.
std::size_t possible_pairs(const std::map<std::int64_t, std::vector<std::size_t>>& families) {
  std::size_t pairs = 0;
  for (const auto& [batch, members] : families) pairs += members.size() * (members.size() - 1) / 2;
  return pairs;
}

std::string verdict(const std::optional<Interval>& ratio) {
  if (!ratio) return "one launch: no verdict";
  return ratio->low > 1 ? "slower" : "no different";
}

/// Fills the rows of the points `members`, which have one batch.
void compare_family(const std::vector<std::size_t>& members, double confidence, std::vector<SweepRow>& rows) {
  Times times;
  for (const auto i : members) times.push_back(times_of(rows[i].point));
  const auto fastest = static_cast<std::size_t>(
      std::min_element(times.begin(), times.end(),
                       [](const auto& a, const auto& b) { return mean(a) < mean(b); }) -
      times.begin());
  std::size_t slower = 0;
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (k == fastest) continue;
    SweepRow& row = rows[members[k]];
    row.ratio = mean(times[k]) / mean(times[fastest]);
    row.ratio_ci = block_ratio_interval(times, k, fastest, confidence);
    row.verdict = verdict(row.ratio_ci);
    slower += row.verdict == "slower" ? 1 : 0;
  }
  rows[members[fastest]].verdict = slower + 1 == members.size() ? "best" : "best, tied";
}

void add_notes(SweepReport& report) {
  std::size_t unsteady = 0, runs = 0, shortened = 0;
  for (const auto& row : report.rows)
    for (const auto& launch : row.point.launches) {
      ++runs;
      unsteady += launch.summary.steady ? 0 : 1;
      shortened += launch.summary.window->shortened ? 1 : 0;
      for (const auto& fault : launch.run.injected) {
        const std::string note = "injected " + fault + ": no measurement of the machine";
        if (std::find(report.notes.begin(), report.notes.end(), note) == report.notes.end())
          report.notes.push_back(note);
      }
    }
  if (unsteady > 0) report.notes.push_back(fmt::format("{} of {} runs were not steady", unsteady, runs));
  if (shortened > 0)
    report.notes.push_back(fmt::format("{} of {} runs have a short window", shortened, runs));
  const auto rounds = report.rows[0].point.launches.size();
  if (rounds < 5)
    report.notes.push_back(fmt::format(
        "{} launch{} of each configuration: only large differences can be told; five are the rule", rounds,
        rounds == 1 ? "" : "es"));
}

}  // namespace

double SweepPoint::step_ms() const {
  return mean(times_of(*this));
}

double SweepPoint::samples_per_s() const {
  double samples = 0, wall_s = 0;
  for (const auto& launch : launches) {
    samples += launch.summary.samples_per_s * launch.wall_s();
    wall_s += launch.wall_s();
  }
  return samples / wall_s;
}

std::optional<Interval> SweepPoint::step_ms_ci() const {
  return launches.size() == 1 ? launches[0].summary.step_ms_ci : launch_interval(times_of(*this));
}

SweepReport compare_points(std::vector<SweepPoint> points) {
  require(!points.empty(), "a sweep of nothing");
  SweepReport report;
  report.ranks = points[0].launches[0].run.ranks;
  const auto families = by_batch(points);
  const double confidence = bonferroni(possible_pairs(families));
  for (auto& point : points) report.rows.push_back({std::move(point), 1, std::nullopt, ""});
  for (const auto& [batch, members] : families) compare_family(members, confidence, report.rows);
  add_notes(report);
  return report;
}

}  // namespace tandem::bench

#include "bench/scaling.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/fairness.h"
#include "bench/verdict.h"
#include "core/base/error.h"

namespace tandem::bench {
namespace {

constexpr double kTooGood = 1.02;
constexpr std::size_t kFullRounds = 5;

bool same_work(const Group& a, const Group& b, Regime regime) {
  return regime == Regime::weak ? a.run().batch == b.run().batch
                                : a.run().global_batch == b.run().global_batch;
}

/// What the ratio is made of: weak compares throughput, strong (the same B on both sides) as well, as
/// T_1/T_P.
std::vector<double> speeds(const Group& group, Regime regime) {
  if (regime == Regime::weak) return group.each(&Summary::samples_per_s);
  auto times = group.each(&Summary::step_ms);
  for (auto& t : times) t = 1 / t;
  return times;
}

double speed(const Group& group, Regime regime) {
  return regime == Regime::weak ? group.samples_per_s() : 1 / group.step_ms();
}

/// Half-width of the step time's interval over the step time.
std::optional<double> relative_error(const Group& group) {
  const auto interval = group.step_ms_ci();
  if (!interval) return std::nullopt;
  return interval->half_width() / group.step_ms();
}

/// 95% interval of the speed-up of `a` over `b`.
std::optional<Interval> speedup_interval(const Group& a, const Group& b, Regime regime) {
  if (a.launches.size() == b.launches.size() && a.launches.size() >= 2)
    return ratio_interval(speeds(a, regime), speeds(b, regime));
  const auto error_a = relative_error(a), error_b = relative_error(b);
  if (!error_a || !error_b) return std::nullopt;
  const double half = std::hypot(*error_a, *error_b), ratio = speed(a, regime) / speed(b, regime);
  return Interval{ratio * (1 - half), ratio * (1 + half)};
}

Against compare(const Group& group, const Group& baseline, Regime regime) {
  require_comparable(group.run(), baseline.run(),
                     baseline.run().ddp ? Comparison::scaling : Comparison::plain);
  const double ranks = group.run().ranks;
  Against against{baseline.name(), speed(group, regime) / speed(baseline, regime), 0, std::nullopt};
  against.efficiency = against.speedup / ranks;
  if (const auto interval = speedup_interval(group, baseline, regime))
    against.efficiency_ci = Interval{interval->low / ranks, interval->high / ranks};
  return against;
}

std::string efficiency_word(const Against& against) {
  if (against.efficiency <= kTooGood) return band(against.efficiency);
  const bool noise = against.efficiency_ci && against.efficiency_ci->low <= kTooGood;
  return noise ? "excellent (over 102%, within noise)" : "suspect: over 102%";
}

/// What makes a group's figures less than a measurement of five steady launches.
std::vector<std::string> reservations(const Group& group) {
  std::set<std::string> found;
  for (const auto& launch : group.launches) {
    if (!launch.summary.steady) found.insert("not steady");
    if (launch.summary.window->shortened) found.insert("short window");
    for (const auto& fault : launch.run.injected) found.insert("injected " + fault);
  }
  std::vector<std::string> list(found.begin(), found.end());
  if (group.launches.size() < kFullRounds)
    list.push_back(fmt::format("{} launch{}", group.launches.size(), group.launches.size() == 1 ? "" : "es"));
  return list;
}

std::string verdict(const ScalingRow& row) {
  const bool baseline = row.group.role != Role::ddp;
  std::string text = baseline ? "baseline" : efficiency_word(row.against[0]);
  for (const auto& reservation : reservations(row.group)) text += "; " + reservation;
  return text;
}

ScalingRow make_row(const Group& group, const std::vector<const Group*>& baselines, Regime regime) {
  ScalingRow row{regime, group, {}, ""};
  for (const Group* baseline : baselines)
    if (baseline != &group) row.against.push_back(compare(group, *baseline, regime));
  row.verdict = verdict(row);
  return row;
}

/// The baselines of `group` in `regime`, the one that the verdict speaks of first.
std::vector<const Group*> baselines_of(const Group& group, const std::vector<Group>& groups, Regime regime) {
  std::vector<const Group*> found;
  for (const auto& candidate : groups) {
    if (candidate.role == Role::ddp || !same_work(group, candidate, regime)) continue;
    const bool beside = candidate.role != Role::uncoupled ||
                        (regime == Regime::weak && candidate.side_by_side() == group.run().ranks);
    if (beside) found.push_back(&candidate);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Group* a, const Group* b) { return a->role < b->role; });
  return found;
}

void add_regime(ScalingReport& report, const std::vector<Group>& groups, Regime regime) {
  std::vector<const Group*> baselines;
  std::vector<ScalingRow> rows;
  for (const auto& group : groups) {
    if (group.role != Role::ddp) continue;
    const auto own = baselines_of(group, groups, regime);
    if (own.empty() || own[0]->role == Role::uncoupled) continue;
    rows.push_back(make_row(group, own, regime));
    for (const Group* baseline : own)
      if (std::find(baselines.begin(), baselines.end(), baseline) == baselines.end())
        baselines.push_back(baseline);
  }
  for (const Group* baseline : baselines)
    report.rows.push_back(make_row(*baseline, {baselines_of(*baseline, groups, regime)[0]}, regime));
  for (auto& row : rows) report.rows.push_back(std::move(row));
}

/// Every run of several ranks must have found a baseline in one regime at least.
void check_all_placed(const ScalingReport& report, const std::vector<Group>& groups,
                      const std::vector<Regime>& regimes) {
  for (const auto& group : groups) {
    if (group.role != Role::ddp) continue;
    const auto same = [&](const ScalingRow& row) {
      return row.group.run().directory == group.run().directory;
    };
    if (std::any_of(report.rows.begin(), report.rows.end(), same)) continue;
    std::string have;
    for (const auto& g : groups)
      if (g.role == Role::plain || g.role == Role::buckets)
        have +=
            fmt::format("{}b = {}, B = {}", have.empty() ? "" : "; ", g.run().batch, g.run().global_batch);
    const bool weak = std::count(regimes.begin(), regimes.end(), Regime::weak) > 0;
    const bool strong = std::count(regimes.begin(), regimes.end(), Regime::strong) > 0;
    throw DataError("{} (P = {}, b = {}, B = {}) has no baseline among the runs on one rank ({}): {}{}{}",
                    group.run().directory, group.run().ranks, group.run().batch, group.run().global_batch,
                    have.empty() ? "none given" : have, weak ? "weak scaling needs the same b" : "",
                    weak && strong ? ", " : "", strong ? "strong scaling the same B" : "");
  }
}

void add_notes(ScalingReport& report) {
  std::set<std::string> seen;
  const auto note = [&](const std::string& text) {
    if (seen.insert(text).second) report.notes.push_back(text);
  };
  for (const auto& row : report.rows) {
    for (const auto& launch : row.group.launches) {
      if (!launch.summary.steady)
        note(fmt::format("not steady: {}: {}", launch.run.directory, launch.summary.not_steady_because));
      for (const auto& finding : launch.summary.findings)
        note(fmt::format("{}: {}", launch.run.directory, finding));
    }
    if (row.group.role == Role::ddp && row.against[0].efficiency > kTooGood)
      note(
          fmt::format("{} scaling, P = {}: more than P times the baseline. Either the baseline was slowed "
                      "(other processes, fewer cores, lower clocks), or {}",
                      name_of(row.regime), row.group.run().ranks,
                      row.regime == Regime::strong ? "a rank's smaller share of the batch fits a cache"
                                                   : "the runs differ in something that no log shows"));
    if (const auto cores = row.group.run().cores_per_rank;
        cores && cores != report.rows[0].group.run().cores_per_rank)
      note(fmt::format(
          "a rank of {} has {} cores, one of {} has {}: they share out caches and clocks differently",
          row.group.run().directory, *cores, report.rows[0].group.run().directory,
          report.rows[0].group.run().cores_per_rank.value_or(0)));
    if (row.group.launches.size() == 1)
      note(
          "one launch of a configuration: its interval covers the scatter within the run, not between "
          "launches");
    else if (row.group.launches.size() < kFullRounds)
      note(fmt::format("{} launches of a configuration: intervals are wide; five are the rule",
                       row.group.launches.size()));
  }
}

}  // namespace

std::string_view name_of(Regime regime) {
  return regime == Regime::weak ? "weak" : "strong";
}

ScalingReport scale(std::vector<MeasuredRun> runs, const std::vector<Regime>& regimes) {
  const auto groups = group_runs(std::move(runs));
  if (std::none_of(groups.begin(), groups.end(), [](const Group& g) { return g.role == Role::ddp; }))
    throw DataError("all runs are on one rank: scaling needs some on two or more");
  ScalingReport report;
  for (const auto regime : regimes) add_regime(report, groups, regime);
  check_all_placed(report, groups, regimes);
  add_notes(report);
  return report;
}

}  // namespace tandem::bench

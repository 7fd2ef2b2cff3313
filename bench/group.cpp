#include "bench/group.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "bench/fairness.h"
#include "core/base/error.h"

namespace tandem::bench {
namespace {

Role role_of(const MeasuredRun& measured) {
  if (measured.run.ranks > 1) return Role::ddp;
  if (measured.origin.uncoupled > 1) return Role::uncoupled;
  return measured.run.ddp ? Role::buckets : Role::plain;
}

auto key_of(const MeasuredRun& m) {
  return std::tuple(m.run.ranks, static_cast<int>(role_of(m)), m.origin.uncoupled, m.run.batch,
                    m.run.accumulate, m.run.global_batch);
}

void keep_slowest_of_each_round(std::vector<MeasuredRun>& launches) {
  std::vector<MeasuredRun> kept;
  for (auto& launch : launches) {
    if (kept.empty() || kept.back().origin.round != launch.origin.round)
      kept.push_back(std::move(launch));
    else if (launch.summary.samples_per_s < kept.back().summary.samples_per_s)
      kept.back() = std::move(launch);
  }
  launches = std::move(kept);
}

void check_alike(const Group& group) {
  for (const auto& launch : group.launches) require_comparable(group.run(), launch.run, Comparison::launches);
}

}  // namespace

std::string Group::name() const {
  if (role == Role::plain) return "plain";
  if (role == Role::buckets) return "buckets only";
  if (role == Role::uncoupled) return fmt::format("{} uncoupled", side_by_side());
  return fmt::format("{} ranks", run().ranks);
}

double Group::step_ms() const {
  double wall_s = 0, steps = 0;
  for (const auto& launch : launches) {
    wall_s += launch.wall_s();
    steps += static_cast<double>(launch.summary.window->steps());
  }
  return 1e3 * wall_s / steps;
}

double Group::samples_per_s() const {
  double wall_s = 0, samples = 0;
  for (const auto& launch : launches) {
    wall_s += launch.wall_s();
    samples += launch.summary.samples_per_s * launch.wall_s();
  }
  return samples / wall_s;
}

std::optional<Interval> Group::step_ms_ci() const {
  return launches.size() == 1 ? launches[0].summary.step_ms_ci : launch_interval(each(&Summary::step_ms));
}

std::optional<double> Group::mean_of(std::optional<double> Summary::*figure) const {
  std::vector<double> values;
  for (const auto& launch : launches) {
    if (!(launch.summary.*figure)) return std::nullopt;
    values.push_back(*(launch.summary.*figure));
  }
  return mean(values);
}

std::vector<double> Group::each(double Summary::*figure) const {
  std::vector<double> values;
  for (const auto& launch : launches) values.push_back(launch.summary.*figure);
  return values;
}

std::vector<Group> group_runs(std::vector<MeasuredRun> runs) {
  std::map<decltype(key_of(runs[0])), Group> groups;
  for (auto& run : runs) {
    if (run.run.ranks > 1 && !run.run.communicate)
      throw DataError("{} ran with --no-comm: without communication there is no scaling to measure",
                      run.run.directory);
    auto& group = groups[key_of(run)];
    group.role = role_of(run);
    group.launches.push_back(std::move(run));
  }
  std::vector<Group> result;
  for (auto& [key, group] : groups) {
    std::stable_sort(group.launches.begin(), group.launches.end(), [](const auto& a, const auto& b) {
      return std::pair(a.origin.round, a.run.directory) < std::pair(b.origin.round, b.run.directory);
    });
    if (group.role == Role::uncoupled) keep_slowest_of_each_round(group.launches);
    check_alike(group);
    result.push_back(std::move(group));
  }
  return result;
}

}  // namespace tandem::bench

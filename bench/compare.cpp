#include "bench/compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "bench/format.h"
#include "bench/table.h"
#include "core/base/text.h"
#include "core/telemetry/findings.h"

namespace tandem::bench {
namespace {

constexpr double kRegression = 0.03;  // of efficiency, MEASURING's three points

std::optional<double> relative_error(const Summary& summary) {
  if (!summary.step_ms_ci) return std::nullopt;
  return summary.step_ms_ci->half_width() / summary.step_ms;
}

double per_rank(const ComparedRun& run) {
  return run.summary.samples_per_s / static_cast<double>(run.run.logged_ranks.size());
}

std::vector<PartChange> part_changes(const Summary& a, const Summary& b) {
  const std::pair<const char*, std::optional<double> Summary::*> fields[] = {
      {"data", &Summary::data_wait_ms},      {"forward", &Summary::forward_ms},
      {"backward", &Summary::backward_ms},   {"exposed comm", &Summary::exposed_comm_ms},
      {"optimizer", &Summary::optimizer_ms}, {"rest (host)", &Summary::host_ms}};
  std::vector<PartChange> parts;
  for (const auto& [name, field] : fields)
    if (a.*field || b.*field) parts.push_back({name, a.*field, b.*field});
  const auto size = [](const PartChange& p) { return p.a && p.b ? std::abs(*p.b - *p.a) : 0.0; };
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const auto& x, const auto& y) { return size(x) > size(y); });
  return parts;
}

void add_result(RunComparison& c, const ComparedRun& a, const ComparedRun& b) {
  if (!a.summary.window || !b.summary.window) {
    const auto& without = a.summary.window ? b : a;
    c.verdict = fmt::format("not compared: {} has no figures ({})", without.run.directory,
                            without.summary.not_steady_because);
    return;
  }
  c.throughput_ratio = per_rank(b) / per_rank(a);
  c.parts = part_changes(a.summary, b.summary);
  const auto error_a = relative_error(a.summary), error_b = relative_error(b.summary);
  if (!error_a || !error_b) {
    c.verdict = "not said: a window of under 20 steps gives no interval";
    return;
  }
  const double half = std::hypot(*error_a, *error_b);
  c.throughput_ci = Interval{*c.throughput_ratio * (1 - half), *c.throughput_ratio * (1 + half)};
  c.verdict = c.throughput_ci->contains(1) ? "no different" : c.throughput_ci->low > 1 ? "faster" : "slower";
}

void add_findings(RunComparison& c) {
  if (c.changed.size() > 1)
    c.findings.push_back(fmt::format(
        "two changes at once: {} differ, so no figure tells which of them mattered. Change one at a time",
        fmt::join(c.changed, ", ")));
  const bool lower = c.throughput_ci && c.throughput_ci->high < 1 && *c.throughput_ratio < 1 - kRegression;
  if (!lower || !c.changed.empty()) return;
  std::vector<std::string> suspects;
  for (const auto& d : c.differences)
    if (d.suspicion != Suspicion::harmless) suspects.push_back(fmt::format("{} {} / {}", d.name, d.a, d.b));
  c.findings.push_back(fmt::format(
      "regression: the same options give {:.1f}% of the throughput a rank ({}). {}",
      100 * *c.throughput_ratio, range(c.throughput_ci),
      suspects.empty() ? "Nothing that is logged explains it: run both again, interleaved (tandem scaling)"
                       : fmt::format("Look at what differs: {}", fmt::join(suspects, "; "))));
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 40;
  return text.size() <= kMost ? text : text.substr(0, kMost - 1) + "…";
}

std::string difference_table(const RunComparison& c) {
  Table table({"what", "a", "b", "suspicion", ""});
  for (const auto& d : c.differences)
    table.add({d.name, shortened(d.a), shortened(d.b), name_of(d.suspicion), d.hint});
  return table.text();
}

std::string part_table(const RunComparison& c) {
  Table table({"part of the step", "a ms", "b ms", "change ms"});
  for (const auto& p : c.parts)
    table.add({p.name, cell(p.a, 2), cell(p.b, 2),
               p.a && p.b ? fmt::format("{:+.2f}", *p.b - *p.a) : std::string("–")});
  return table.text();
}

}  // namespace

ComparedRun read_compared(const std::string& directory) {
  SalvagedRun salvaged = salvage_run(directory);
  ComparedRun compared{std::move(salvaged.run), {}, std::move(salvaged.problems)};
  if (!compared.run.finished && compared.problems.empty())
    compared.problems.push_back(fmt::format("{}: it wrote no summary.json: interrupted, or died", directory));
  if (compared.run.steps.empty()) {
    compared.summary.not_steady_because = "no rank's steps can be read";
    return compared;
  }
  const Run& run = compared.run;
  compared.summary = summarise(run.steps, run.window);
  for (auto& line : find_causes(run.places, run.host_cores.value_or(0), run.compute_threads))
    compared.summary.findings.push_back(std::move(line));
  return compared;
}

std::string describe(const ComparedRun& run) {
  const Summary& s = run.summary;
  std::string text = fmt::format("{}: {}, P {}, b {}, B {}\n", run.run.directory, run.run.model,
                                 run.run.ranks, run.run.batch, run.run.global_batch);
  if (s.window)
    text += fmt::format("   step {} ms, {} samples/s{}\n", with_interval(s.step_ms, s.step_ms_ci),
                        human_count(s.samples_per_s), s.steady ? "" : "; not steady");
  for (const auto& fault : run.run.injected) text += fmt::format("   INJECTED {}\n", fault);
  for (const auto& problem : run.problems) text += fmt::format("   problem: {}\n", problem);
  for (const auto& finding : s.findings) text += fmt::format("   finding: {}\n", finding);
  return text;
}

RunComparison compare_runs(const ComparedRun& a, const ComparedRun& b) {
  RunComparison comparison;
  comparison.differences = differences_between(a.run, b.run);
  for (const auto& d : comparison.differences)
    if (d.option && d.suspicion != Suspicion::harmless) comparison.changed.push_back(d.name);
  add_result(comparison, a, b);
  add_findings(comparison);
  return comparison;
}

std::string to_text(const RunComparison& c, const ComparedRun& a, const ComparedRun& b) {
  std::string text = "a  " + describe(a) + "b  " + describe(b) + "\n";
  text += c.differences.empty() ? "nothing that is logged differs\n" : difference_table(c);
  if (!c.parts.empty()) text += "\n" + part_table(c);
  text += "\n";
  if (c.throughput_ratio)
    text +=
        fmt::format("samples/s a rank, b over a: {:.3f} ({}, scatter within the runs): ", *c.throughput_ratio,
                    range(c.throughput_ci));
  text += c.verdict + "\n";
  for (const auto& finding : c.findings) text += "finding: " + finding + "\n";
  return text;
}

}  // namespace tandem::bench

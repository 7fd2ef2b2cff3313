#include "bench/scaling_output.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "bench/format.h"
#include "core/base/error.h"

namespace tandem::bench {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

Table make_table(const ScalingReport& report) {
  Table table({"run", "P", "regime", "b", "B", "steps", "step ms ± CI", "samples/s", "speed-up",
               "efficiency ± CI", "exposed comm ms", "data wait ms", "skew %", "verdict"});
  for (const auto& row : report.rows) {
    const Group& g = row.group;
    const bool judged = g.role == Role::ddp;
    auto skew = g.mean_of(&Summary::skew);
    if (skew) *skew *= 100;
    table.add({g.name(), std::to_string(g.run().ranks), std::string(name_of(row.regime)),
               std::to_string(g.run().batch), std::to_string(g.run().global_batch),
               std::to_string(g.launches[0].summary.window->steps()),
               with_interval(g.step_ms(), g.step_ms_ci()), cell(g.samples_per_s(), 1),
               judged ? cell(row.against[0].speedup, 2) : "–",
               judged ? percent_with_interval(row.against[0].efficiency, row.against[0].efficiency_ci) : "–",
               cell(g.mean_of(&Summary::exposed_comm_ms), 2), cell(g.mean_of(&Summary::data_wait_ms), 2),
               cell(skew, 1), row.verdict});
  }
  return table;
}

/// "weak, P = 2: 92.1 ± 0.4% of plain, 94.0 ± 0.3% of buckets only", a line for each row with a baseline.
std::vector<std::string> efficiency_lines(const ScalingReport& report) {
  std::vector<std::string> lines;
  for (const auto& row : report.rows) {
    if (row.against.empty()) continue;
    std::string line = fmt::format("{}, {}:", name_of(row.regime), row.group.name());
    for (std::size_t i = 0; i < row.against.size(); ++i)
      line += fmt::format("{} {} of {}", i ? "," : "",
                          percent_with_interval(row.against[i].efficiency, row.against[i].efficiency_ci),
                          row.against[i].baseline);
    lines.push_back(line);
  }
  return lines;
}

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json interval(const std::optional<Interval>& value) {
  return value ? Json{value->low, value->high} : Json();
}

Json against(const Against& a) {
  return {{"baseline", a.baseline},
          {"speedup", a.speedup},
          {"efficiency", a.efficiency},
          {"efficiency_ci", interval(a.efficiency_ci)}};
}

Json record(const ScalingRow& row, const std::string& folder) {
  const Group& g = row.group;
  const Against* first = row.against.empty() ? nullptr : &row.against[0];
  const std::string efficiency = fmt::format("efficiency_{}", name_of(row.regime));
  Json json{{"run", g.name()},
            {"ranks", g.run().ranks},
            {"regime", name_of(row.regime)},
            {"batch", g.run().batch},
            {"accumulate", g.run().accumulate},
            {"global_batch", g.run().global_batch},
            {"steps", g.launches[0].summary.window->steps()},
            {"launches", g.launches.size()},
            {"step_ms", g.step_ms()},
            {"step_ms_ci", interval(g.step_ms_ci())},
            {"samples_per_s", g.samples_per_s()},
            {"baseline", first ? Json(first->baseline) : Json()},
            {"speedup", first ? first->speedup : 1.0},
            {efficiency, first ? first->efficiency : 1.0},
            {"efficiency_ci", first ? interval(first->efficiency_ci) : Json()},
            {"exposed_comm_ms", number(g.mean_of(&Summary::exposed_comm_ms))},
            {"data_wait_ms", number(g.mean_of(&Summary::data_wait_ms))},
            {"skew", number(g.mean_of(&Summary::skew))},
            {"verdict", row.verdict}};
  json["against"] = Json::array();
  for (const auto& a : row.against) json["against"].push_back(against(a));
  json["runs"] = Json::array();
  for (const auto& launch : g.launches)
    json["runs"].push_back(fs::proximate(launch.run.directory, folder).string());
  return json;
}

/// The first of a regime's rows is the baseline that verdicts speak of: that is the record of P = 1. The
/// other baselines are listed apart, so that there is one record per P and regime.
bool is_record(const ScalingRow& row) {
  return row.group.role == Role::ddp || row.against.empty();
}

}  // namespace

std::string to_text(const ScalingReport& report) {
  std::string text = make_table(report).text() + "\nefficiency\n";
  for (const auto& line : efficiency_lines(report)) text += "  " + line + "\n";
  if (!report.notes.empty()) text += "\nnotes\n";
  for (const auto& note : report.notes) text += "  " + note + "\n";
  return text;
}

std::string to_markdown(const ScalingReport& report) {
  const Run& run = report.rows.back().group.run();
  std::string text =
      fmt::format("# Scaling of {} ({} parameters, {}, {}, {} compute thread{} a rank)\n\n{}\n", run.model,
                  run.parameters, run.dtype, run.optimizer, run.compute_threads,
                  run.compute_threads == 1 ? "" : "s", make_table(report).markdown());
  for (const auto& line : efficiency_lines(report)) text += "- " + line + "\n";
  if (!report.notes.empty()) text += "\nNotes:\n\n";
  for (const auto& note : report.notes) text += "- " + note + "\n";
  text += "\nEnvironment:\n\n";
  for (const auto& [key, value] : run.environment) text += fmt::format("- {}: {}\n", key, value);
  return text;
}

std::string to_csv(const ScalingReport& report) {
  Table table(
      {"run",      "ranks",      "regime",         "batch",           "global_batch",    "steps",
       "launches", "step_ms",    "step_ms_low",    "step_ms_high",    "samples_per_s",   "baseline",
       "speedup",  "efficiency", "efficiency_low", "efficiency_high", "exposed_comm_ms", "data_wait_ms",
       "skew",     "verdict"});
  const auto low = [](const std::optional<Interval>& i) { return i ? exact(i->low) : ""; };
  const auto high = [](const std::optional<Interval>& i) { return i ? exact(i->high) : ""; };
  for (const auto& row : report.rows) {
    const Group& g = row.group;
    for (const auto& a : row.against.empty() ? std::vector<Against>{{"", 1, 1, std::nullopt}} : row.against)
      table.add({g.name(),
                 std::to_string(g.run().ranks),
                 std::string(name_of(row.regime)),
                 std::to_string(g.run().batch),
                 std::to_string(g.run().global_batch),
                 std::to_string(g.launches[0].summary.window->steps()),
                 std::to_string(g.launches.size()),
                 exact(g.step_ms()),
                 low(g.step_ms_ci()),
                 high(g.step_ms_ci()),
                 exact(g.samples_per_s()),
                 a.baseline,
                 exact(a.speedup),
                 exact(a.efficiency),
                 low(a.efficiency_ci),
                 high(a.efficiency_ci),
                 exact(g.mean_of(&Summary::exposed_comm_ms)),
                 exact(g.mean_of(&Summary::data_wait_ms)),
                 exact(g.mean_of(&Summary::skew)),
                 row.verdict});
  }
  return table.csv();
}

std::string to_json(const ScalingReport& report, const std::string& folder) {
  Json json{{"version", 1}, {"records", Json::array()}, {"baselines", Json::array()}};
  for (const auto& row : report.rows)
    json[is_record(row) ? "records" : "baselines"].push_back(record(row, folder));
  json["notes"] = report.notes;
  json["environment"] = report.rows.back().group.run().environment;
  return json.dump(2) + "\n";
}

void write_files(const ScalingReport& report, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw DataError("{} cannot be made: {}", folder, error.message());
  write_file(folder + "/scaling.json", to_json(report, folder));
  write_file(folder + "/scaling.csv", to_csv(report));
  write_file(folder + "/scaling.md", to_markdown(report));
}

}  // namespace tandem::bench

#include "bench/report_data.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>

#include <nlohmann/json.hpp>

#include "bench/compare.h"
#include "bench/report_run.h"
#include "bench/scaling_output.h"
#include "bench/waterfall.h"
#include "core/base/error.h"

namespace tandem::bench {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct Sources {
  /// Runs that belong together: those given one by one, and those of each experiment.
  std::vector<std::vector<std::string>> groups{{}};
  std::vector<Json> sweeps, collectives;
  std::vector<std::string> problems;
};

Json read_json(const fs::path& path) {
  std::ifstream file(path);
  Json json = Json::parse(file, nullptr, false);
  if (!json.is_object()) throw DataError("{} is no JSON object", path.string());
  return json;
}

std::vector<std::string> runs_in(const fs::path& folder) {
  std::vector<std::string> runs;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder / "runs", none))
    if (fs::exists(entry.path() / "run.json")) runs.push_back(entry.path().string());
  std::sort(runs.begin(), runs.end());
  return runs;
}

void add_source(const std::string& source, Sources& sources) {
  const fs::path path = source;
  if (fs::is_regular_file(path)) {
    sources.collectives.push_back(read_json(path));
  } else if (fs::exists(path / "run.json")) {
    sources.groups[0].push_back(source);
  } else if (fs::exists(path / "sweep.json")) {
    sources.sweeps.push_back(read_json(path / "sweep.json"));
  } else if (auto runs = runs_in(path); !runs.empty()) {
    sources.groups.push_back(std::move(runs));
  } else {
    throw DataError("{} is no run, no experiment and no JSON file: it has neither run.json nor runs/",
                    source);
  }
}

Sources find_sources(const std::vector<std::string>& names) {
  Sources sources;
  for (const auto& name : names) {
    try {
      add_source(name, sources);
    } catch (const DataError& error) {
      sources.problems.push_back(error.what());
    }
  }
  return sources;
}

Json waterfall_json(const Waterfall& w) {
  Json parts = Json::array();
  for (const auto& [name, ms] : w.parts) parts.push_back({{"name", name}, {"ms", ms}});
  return {{"name", w.name},         {"regime", w.regime},           {"baseline", w.baseline},
          {"ideal_ms", w.ideal_ms}, {"step_ms", w.step_ms},         {"loss_ms", w.loss_ms},
          {"parts", parts},         {"residual_ms", w.residual_ms}, {"explained", w.explained()}};
}

/// Efficiency, where runs of one and of several ranks are among them; or why there is none.
void add_scaling(std::span<const ComparedRun> runs, Json& data) {
  std::vector<MeasuredRun> measured;
  bool alone = false, together = false;
  for (const auto& run : runs) {
    if (!run.problems.empty() || !run.summary.window || !(run.run.communicate || !run.run.ddp)) continue;
    (run.run.ranks > 1 ? together : alone) = true;
    measured.push_back(measure(run.run.directory));
  }
  if (!alone || !together) return;
  try {
    const ScalingReport report = scale(std::move(measured), {Regime::weak, Regime::strong});
    data["scaling"].push_back(Json::parse(to_json(report, ".")));
    for (const auto& w : waterfalls(report)) data["waterfalls"].push_back(waterfall_json(w));
  } catch (const DataError& error) {
    data["problems"].push_back(fmt::format("no scaling efficiency: {}", error.what()));
  }
}

void add_run(const std::string& folder, std::vector<ComparedRun>& runs, Json& data) {
  try {
    runs.push_back(read_compared(folder));
    data["runs"].push_back(run_data(runs.back()));
    for (const auto& problem : runs.back().problems) data["problems"].push_back(problem);
  } catch (const DataError& error) {
    data["problems"].push_back(error.what());
  }
}

Json comparison_json(const ComparedRun& a, const ComparedRun& b) {
  const RunComparison c = compare_runs(a, b);
  Json json{{"a", a.run.directory}, {"b", b.run.directory}, {"verdict", c.verdict}, {"findings", c.findings}};
  json["ratio"] = c.throughput_ratio ? Json(*c.throughput_ratio) : Json();
  json["ratio_ci"] = c.throughput_ci ? Json{c.throughput_ci->low, c.throughput_ci->high} : Json();
  json["differences"] = Json::array();
  for (const auto& d : c.differences)
    json["differences"].push_back(
        {{"name", d.name}, {"a", d.a}, {"b", d.b}, {"suspicion", name_of(d.suspicion)}, {"hint", d.hint}});
  return json;
}

}  // namespace

std::string report_data(const std::vector<std::string>& names) {
  const Sources sources = find_sources(names);
  std::vector<ComparedRun> runs;
  Json data{{"version", 1},
            {"sources", names},
            {"problems", sources.problems},
            {"runs", Json::array()},
            {"scaling", Json::array()},
            {"waterfalls", Json::array()},
            {"sweeps", sources.sweeps},
            {"collectives", sources.collectives},
            {"comparison", nullptr}};
  for (const auto& group : sources.groups) {
    const std::size_t before = runs.size();
    for (const auto& folder : group) add_run(folder, runs, data);
    add_scaling(std::span(runs).subspan(before), data);
  }
  if (runs.empty() && sources.sweeps.empty() && sources.collectives.empty())
    throw DataError("nothing to report: {}",
                    fmt::join(data["problems"].get<std::vector<std::string>>(), "; "));
  if (runs.size() >= 2) data["comparison"] = comparison_json(runs[0], runs[1]);
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tandem::bench

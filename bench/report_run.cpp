#include "bench/report_run.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/telemetry/run_events.h"

namespace tandem::bench {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::size_t kMostPoints = 2000;  // of a series: a page holds many runs

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

double longest_ms(const Run& run, std::size_t k) {
  double longest = 0;
  for (const auto& steps : run.steps) longest = std::max(longest, steps[k].step_ms);
  return longest;
}

Json series(const Run& run) {
  Json json{{"step", Json::array()},
            {"step_ms", Json::array()},
            {"loss", Json::array()},
            {"exposed_ms", Json::array()},
            {"sm_mhz", Json::array()}};
  const std::size_t steps = run.steps[0].size(), every = (steps + kMostPoints - 1) / kMostPoints;
  for (std::size_t k = 0; k < steps; k += every) {
    const StepRecord& first = run.steps[0][k];
    json["step"].push_back(first.step);
    json["step_ms"].push_back(longest_ms(run, k));
    json["loss"].push_back(number(first.loss));
    json["exposed_ms"].push_back(number(first.exposed_comm_ms));
    json["sm_mhz"].push_back(number(first.sm_mhz));
  }
  return json;
}

Json step_json(const StepRecord& step, int rank) {
  Json json{
      {"rank", rank}, {"step_us", step.step_ms * 1e3}, {"phases", Json::array()}, {"buckets", Json::array()}};
  for (const PhaseSpan& p : step.phases)
    json["phases"].push_back({{"phase", kPhaseNames[static_cast<std::size_t>(p.phase)]},
                              {"start_us", p.start_us},
                              {"end_us", p.end_us}});
  for (const BucketRecord& b : step.buckets)
    json["buckets"].push_back({{"id", b.id},
                               {"bytes", b.bytes},
                               {"ready_us", b.ready_us},
                               {"start_us", b.start_us},
                               {"end_us", b.end_us},
                               {"wait_start_us", b.wait_start_us},
                               {"wait_end_us", b.wait_end_us},
                               {"applied_us", number(b.applied_us)}});
  return json;
}

/// The step that stands for the window: nearest its median, and probed on all ranks.
Json typical_step(const ComparedRun& compared) {
  const Run& run = compared.run;
  const Summary& summary = compared.summary;
  if (!summary.window) return nullptr;
  std::optional<std::size_t> best;
  const auto far = [&](std::size_t k) { return std::abs(longest_ms(run, k) - summary.step_ms_median); };
  for (auto k = static_cast<std::size_t>(summary.window->first);
       k <= static_cast<std::size_t>(summary.window->last); ++k)
    if (!run.steps[0][k].phases.empty() && (!best || far(k) < far(*best))) best = k;
  if (!best) return nullptr;
  Json json{{"step", run.steps[0][*best].step}, {"ranks", Json::array()}};
  for (std::size_t r = 0; r < run.steps.size(); ++r)
    json["ranks"].push_back(step_json(run.steps[r][*best], run.logged_ranks[r]));
  return json;
}

Json events(const fs::path& folder) {
  Json json = Json::array();
  for (const EventRecord& e : read_events(folder))
    json.push_back({{"step", e.step}, {"kind", e.kind}, {"duration_ms", e.duration_ms}, {"text", e.text}});
  return json;
}

/// The lines of all ranks' device.rankR.jsonl, as they are; null where there is none.
Json device(const fs::path& folder, int ranks) {
  Json lines;
  for (int rank = 0; rank < ranks; ++rank) {
    std::ifstream file(folder / fmt::format("device.rank{}.jsonl", rank));
    for (std::string line; std::getline(file, line);)
      if (Json json = Json::parse(line, nullptr, false); json.is_object()) lines.push_back(std::move(json));
  }
  return lines;
}

}  // namespace

Json run_data(const ComparedRun& compared) {
  const Run& run = compared.run;
  const fs::path folder = run.directory;
  const fs::path named = folder.has_filename() ? folder : folder.parent_path();
  Json json{{"name", named.filename().string()},
            {"directory", run.directory},
            {"model", run.model},
            {"parameters", run.parameters},
            {"dtype", run.dtype},
            {"optimizer", run.optimizer},
            {"ranks", run.ranks},
            {"batch", run.batch},
            {"accumulate", run.accumulate},
            {"global_batch", run.global_batch},
            {"ddp", run.ddp},
            {"communicate", run.communicate},
            {"injected", run.injected},
            {"problems", compared.problems}};
  json["summary"] = Json::parse(to_json(compared.summary));
  json["series"] = run.steps.empty() ? Json() : series(run);
  json["events"] = events(folder);
  json["typical"] = typical_step(compared);
  json["device"] = device(folder, run.ranks);
  json["config"] = Json(run.config);
  json["environment"] = Json(run.environment);
  return json;
}

}  // namespace tandem::bench

#include "bench/prediction.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>

#include <nlohmann/json.hpp>

#include "bench/table.h"
#include "core/base/error.h"
#include "core/telemetry/run_reader.h"
#include "core/telemetry/summary.h"

namespace tandem::bench {

namespace {

using Json = nlohmann::ordered_json;
using Steps = std::vector<std::vector<StepRecord>>;  // by rank

/// The windows of alike runs, one after the other.
struct Pool {
  int ranks = 0;
  std::int64_t batch = 0;
  bool clipped = false, overlap = true;
  Steps steps;
  double wall_ms = 0;  // of the longest rank

  double step_ms() const { return wall_ms / static_cast<double>(steps[0].size()); }
};

/// The value of one of train's options in that run, as it was written: "default" if it was not.
std::string option_of(const Run& run, const std::string& name) {
  const auto found = run.config.find(name);
  return found == run.config.end() ? "default" : found->second;
}

void add(Pool& pool, const Run& run) {
  const Summary summary = summarise(run.steps, run.window);
  if (!summary.window) throw DataError("{}: {}", run.directory, summary.not_steady_because);
  pool.ranks = run.ranks;
  pool.batch = run.batch;
  pool.clipped = std::strtod(option_of(run, "clip").c_str(), nullptr) > 0 || run.dtype == "fp16";
  pool.overlap = option_of(run, "overlap") != "false";
  pool.steps.resize(static_cast<std::size_t>(run.ranks));
  for (std::size_t r = 0; r < pool.steps.size(); ++r) {
    const auto first = run.steps[r].begin() + summary.window->first;
    pool.steps[r].insert(pool.steps[r].end(), first, first + summary.window->steps());
  }
  pool.wall_ms += summary.step_ms * static_cast<double>(summary.window->steps());
}

bool timed(const Run& run) {
  return run.ddp && run.communicate && !run.steps[0].empty() && !run.steps[0].back().buckets.empty();
}

/// Pools the runs with this number of ranks and batch (0: any).
Pool pool_of(const std::vector<Run>& runs, int ranks, std::int64_t batch) {
  Pool pool;
  for (const Run& run : runs)
    if (timed(run) && run.ranks == ranks && (batch == 0 || run.batch == batch)) add(pool, run);
  return pool;
}

/// The link of any number of ranks.
struct Links {
  std::function<LinkModel(int ranks)> of;
  std::string assumption;
};

LinkModel parse_link(const Json& segments) {
  LinkModel link;
  for (const auto& s : segments)
    link.segments.push_back({s.at("from_bytes").get<double>(), s.at("alpha_us").get<double>(),
                             s.at("beta_us_per_byte").get<double>()});
  if (link.segments.empty()) throw DataError("a link without segments");
  return link;
}

Links links_of(const Json& json) {
  if (json.contains("links")) {
    const int measured = json.at("ranks").get<int>();
    const LinkModel link = parse_link(json.at("links").at("all-reduce").at("segments"));
    return {[=](int ranks) { return ring_link(link, measured, ranks); },
            fmt::format("links all alike, as tandem collectives measured them among {} ranks", measured)};
  }
  std::vector<NetworkLevel> levels;
  for (const auto& level : json.at("levels"))
    levels.push_back(
        {level.at("ranks").get<int>(), level.at("alpha_us").get<double>(), level.at("gb_s").get<double>()});
  std::sort(levels.begin(), levels.end(), [](auto& a, auto& b) { return a.ranks < b.ranks; });
  for (const NetworkLevel& level : levels)
    if (level.ranks < 2 || level.alpha_us < 0 || level.gb_s <= 0)
      throw DataError("a level needs ranks of at least 2, alpha_us of at least 0 and gb_s above 0");
  return {[=](int ranks) { return ring_link(levels, ranks); },
          "one ring through all ranks, each of its steps as slow as the outermost link that it crosses"};
}

Links read_links(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UsageError("--links {}: cannot be read", path);
  try {
    return links_of(Json::parse(file));
  } catch (const Json::exception&) {
    throw DataError(
        "--links {}: neither what tandem collectives --json writes nor {{\"levels\": [{{\"ranks\": 8, "
        "\"alpha_us\": 5, \"gb_s\": 150}}]}}",
        path);
  } catch (const DataError& error) {
    throw DataError("--links {}: {}", path, error.what());
  }
}

Links seen_by(const Pool& several) {
  const LinkModel link = link_of_transfers(several.steps);
  const int measured = several.ranks;
  return {[=](int ranks) { return ring_link(link, measured, ranks); },
          fmt::format("links all alike, as the buckets of the runs on {} ranks saw them", measured)};
}

}  // namespace

PredictionReport predict(const std::vector<std::string>& folders, const std::vector<int>& ranks,
                         const std::string& links_file) {
  for (const int p : ranks)
    if (p < 1 || p > 100'000) throw UsageError("--predict {}: give numbers of ranks from 1 to 100000", p);
  std::vector<Run> runs;
  int most = 0;
  for (const auto& folder : folders) {
    runs.push_back(read_run(folder));
    if (timed(runs.back())) most = std::max(most, runs.back().ranks);
  }
  if (most < 2)
    throw DataError("--predict needs a run of several ranks whose buckets were timed (--probe bucket)");
  const Pool several = pool_of(runs, most, 0);
  const Pool one = pool_of(runs, 1, several.batch);
  if (one.steps.empty())
    throw DataError("--predict needs a run of one rank with buckets, b {} as on {} ranks", several.batch,
                    most);

  const Links links = links_file.empty() ? seen_by(several) : read_links(links_file);
  PredictionReport report;
  report.batch = several.batch;
  Calibration& calibration = report.calibration;
  calibration.work = work_of(one.steps[0], one.clipped, one.overlap);
  const double alone_us = replay(calibration.work, {}).step_us;
  calibration.contention = contention_of(several.steps, alone_us, links.of(most));
  calibration.noise_us = work_noise_us(one.steps);
  report.measured_ranks = most;
  report.measured_ms = several.step_ms();
  const auto at = [&](int p) { return predict_step(calibration, links.of(p), p); };
  report.check = at(most);
  for (const int p : ranks) report.predictions.push_back(at(p));
  report.assumptions = {
      fmt::format("each rank as fast as the one that ran alone ({:.2f} ms a step, b {})", alone_us / 1e3,
                  report.batch),
      links.assumption,
      fmt::format("collectives take {:.2f} times as long beside compute, compute {:.2f} times beside them, "
                  "as on {} ranks",
                  calibration.contention.load, calibration.contention.slowdown, most),
      fmt::format(
          "a rank's work scatters by {:.2f} ms from step to step, independently of the others'; every "
          "step waits for the slowest",
          calibration.noise_us / 1e3)};
  return report;
}

std::string to_text(const PredictionReport& report) {
  Table table({"ranks", "step ms", "exposed ms", "waiting for the slowest ms", "efficiency", "measured ms"});
  const auto row = [&](const Prediction& p, const std::string& measured) {
    table.add({std::to_string(p.ranks), fmt::format("{:.2f}", p.step_ms), fmt::format("{:.2f}", p.exposed_ms),
               fmt::format("{:.2f}", p.straggling_ms), fmt::format("{:.1f}%", 100 * p.efficiency), measured});
  };
  row(report.check, fmt::format("{:.2f}", report.measured_ms));
  for (const Prediction& p : report.predictions) row(p, "–");
  std::string text = fmt::format("predicted, weak scaling, b {}\n{}assuming\n", report.batch, table.text());
  for (const auto& assumption : report.assumptions) text += "  " + assumption + "\n";
  return text;
}

std::string to_json(const PredictionReport& report) {
  const auto json_of = [](const Prediction& p) {
    return Json{{"ranks", p.ranks},
                {"step_ms", p.step_ms},
                {"exposed_comm_ms", p.exposed_ms},
                {"straggling_ms", p.straggling_ms},
                {"efficiency_weak", p.efficiency}};
  };
  Json predictions = Json::array();
  for (const Prediction& p : report.predictions) predictions.push_back(json_of(p));
  Json check = json_of(report.check);
  check["measured_ms"] = report.measured_ms;
  const Json json = {{"version", 1},
                     {"batch", report.batch},
                     {"slowdown", report.calibration.contention.slowdown},
                     {"load", report.calibration.contention.load},
                     {"noise_ms", report.calibration.noise_us / 1e3},
                     {"check", std::move(check)},
                     {"predictions", std::move(predictions)},
                     {"assumptions", report.assumptions}};
  return json.dump(2) + "\n";
}

}  // namespace tandem::bench

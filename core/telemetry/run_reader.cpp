#include "core/telemetry/run_reader.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/telemetry/step_line.h"

namespace tandem {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

void check_version(const Json& json, const std::string& where) {
  const auto version = json.find("version");
  if (version == json.end() || !version->is_number_integer())
    throw DataError("{} carries no format version: it is not of a run", where);
  if (*version != kLogVersion)
    throw DataError("{} has format version {}, this program reads version {}: use the program that wrote it",
                    where, version->dump(), kLogVersion);
}

/// `json[key]` as a T, with an error that names key and place.
template <class T>
T get(const Json& json, const char* key, const std::string& where) {
  try {
    return json.at(key).get<T>();
  } catch (const Json::exception&) {
    throw DataError("{}: \"{}\" is missing or of another type", where, key);
  }
}

std::optional<double> optional_number(const Json& json, const char* key, const std::string& where) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return get<double>(json, key, where);
}

std::string as_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Nested names joined by dots; options ("--bucket-mb") under their names as the files write them.
void flatten(const Json& json, const std::string& prefix, std::map<std::string, std::string>& flat) {
  for (const auto& [key, value] : json.items()) {
    std::string name = prefix + key.substr(std::min(key.find_first_not_of('-'), key.size()));
    if (value.is_object()) {
      flatten(value, name + ".", flat);
      continue;
    }
    for (auto& c : name)
      if (c == '-') c = '_';
    flat[name] = as_text(value);
  }
}

/// How many cores "0-3,8" lists.
int count_cores(std::string list) {
  int count = 0;
  std::replace(list.begin(), list.end(), ',', ' ');
  std::istringstream ranges(list);
  for (std::string range; ranges >> range;) {
    int first = 0, last = 0;
    const int found = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    count += found == 2 ? last - first + 1 : found == 1 ? 1 : 0;
  }
  return count;
}

/// Where each rank ran, as far as it is told.
std::vector<RankPlace> parse_places(const Json& environment) {
  std::vector<RankPlace> places;
  const auto ranks = environment.find("ranks");
  if (ranks == environment.end() || !ranks->is_array()) return places;
  for (const auto& rank : *ranks)
    if (rank.is_object() && rank.contains("cores") && rank["cores"].is_string())
      places.push_back({rank.value("host", ""), rank.value("allowed_cores", ""), rank["cores"]});
  return places;
}

std::optional<int> fewest_cores(const std::vector<RankPlace>& places) {
  std::optional<int> fewest;
  for (const auto& place : places)
    if (const int count = count_cores(place.cores); count > 0)
      fewest = std::min(count, fewest.value_or(count));
  return fewest;
}

BucketRecord parse_bucket(const Json& json, const std::string& where) {
  BucketRecord bucket;
  bucket.id = get<int>(json, "id", where);
  bucket.bytes = get<std::int64_t>(json, "bytes", where);
  bucket.ready_us = get<double>(json, "ready_us", where);
  bucket.start_us = get<double>(json, "start_us", where);
  bucket.end_us = get<double>(json, "end_us", where);
  bucket.wait_start_us = optional_number(json, "wait_start_us", where).value_or(0);
  bucket.wait_end_us = optional_number(json, "wait_end_us", where).value_or(0);
  bucket.applied_us = optional_number(json, "applied_us", where);
  return bucket;
}

PhaseSpan parse_phase(const Json& json, const std::string& where) {
  const auto name = get<std::string>(json, "phase", where);
  const auto found = std::find(kPhaseNames.begin(), kPhaseNames.end(), name);
  if (found == kPhaseNames.end()) throw DataError("{}: there is no phase \"{}\"", where, name);
  return {static_cast<Phase>(found - kPhaseNames.begin()), get<double>(json, "start_us", where),
          get<double>(json, "end_us", where)};
}

StepRecord parse_step(const Json& json, const std::string& where) {
  check_version(json, where);
  StepRecord step;
  step.step = get<std::int64_t>(json, "step", where);
  step.start_ms = get<double>(json, "start_ms", where);
  step.step_ms = get<double>(json, "step_ms", where);
  step.samples = get<std::int64_t>(json, "samples", where);
  step.tokens = optional_number(json, "tokens", where) ? get<std::int64_t>(json, "tokens", where) : 0;
  const std::pair<const char*, std::optional<double> StepRecord::*> fields[] = {
      {"host_ms", &StepRecord::host_ms},
      {"data_wait_ms", &StepRecord::data_wait_ms},
      {"data_bubble_ms", &StepRecord::data_bubble_ms},
      {"h2d_ms", &StepRecord::h2d_ms},
      {"forward_ms", &StepRecord::forward_ms},
      {"backward_ms", &StepRecord::backward_ms},
      {"comm_busy_ms", &StepRecord::comm_busy_ms},
      {"exposed_comm_ms", &StepRecord::exposed_comm_ms},
      {"optimizer_ms", &StepRecord::optimizer_ms},
      {"host_gap_ms", &StepRecord::host_gap_ms},
      {"loss", &StepRecord::loss},
      {"grad_norm", &StepRecord::grad_norm},
      {"lr", &StepRecord::lr},
      {"loss_scale", &StepRecord::loss_scale},
      {"sm_mhz", &StepRecord::sm_mhz},
      {"power_w", &StepRecord::power_w}};
  for (const auto& [name, field] : fields) step.*field = optional_number(json, name, where);
  if (const auto buckets = json.find("buckets"); buckets != json.end() && buckets->is_array())
    for (const auto& bucket : *buckets) step.buckets.push_back(parse_bucket(bucket, where));
  if (const auto phases = json.find("phases"); phases != json.end() && phases->is_array())
    for (const auto& phase : *phases) step.phases.push_back(parse_phase(phase, where));
  return step;
}

/// The steps up to the first line that cannot be read; that one becomes a problem.
std::vector<StepRecord> read_steps(const fs::path& path, std::vector<std::string>& problems) {
  std::vector<StepRecord> steps;
  try {
    std::ifstream file(path);
    if (!file) throw DataError("{} is missing or unreadable: the run is incomplete", path.string());
    std::string line;
    while (std::getline(file, line)) {
      const std::string where = fmt::format("{} line {}", path.string(), steps.size() + 1);
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_discarded() || !json.is_object())
        throw DataError("{} is cut off or not JSON: the run did not end as it should", where);
      StepRecord step = parse_step(json, where);
      if (!steps.empty() && step.step != steps.back().step + 1)
        throw DataError("{} is of step {}, not of the step after the line before", where, step.step);
      steps.push_back(std::move(step));
    }
  } catch (const DataError& error) {
    problems.push_back(error.what());
  }
  return steps;
}

Json read_json(const fs::path& path) {
  std::ifstream file(path);
  if (!file)
    throw DataError("{} is missing or unreadable: {} is no run", path.string(), path.parent_path().string());
  Json json = Json::parse(file, nullptr, false);
  if (json.is_discarded() || !json.is_object()) throw DataError("{} is cut off or not JSON", path.string());
  check_version(json, path.string());
  return json;
}

Run parse_run(const Json& json, const fs::path& path) {
  const std::string where = path.string();
  Run run;
  run.directory = path.parent_path().string();
  const auto model = get<Json>(json, "model", where);
  run.model = get<std::string>(model, "name", where);
  run.parameters = get<std::int64_t>(model, "parameters", where);
  run.dtype = get<std::string>(json, "dtype", where);
  run.optimizer = get<std::string>(json, "optimizer", where);
  run.batch = get<std::int64_t>(json, "batch", where);
  run.accumulate = get<std::int64_t>(json, "accumulate", where);
  run.global_batch = get<std::int64_t>(json, "global_batch", where);
  run.ranks = get<int>(json, "ranks", where);
  run.ddp = get<bool>(json, "ddp", where);
  run.communicate = get<bool>(json, "communicate", where);
  run.compute_threads = get<int>(json, "compute_threads", where);
  if (run.ranks < 1) throw DataError("{}: {} ranks", where, run.ranks);
  for (const auto& fault : json.value("injected", Json::array())) run.injected.push_back(as_text(fault));
  flatten(json.value("config", Json::object()), "", run.config);
  const Json environment = json.value("environment", Json::object());
  run.places = parse_places(environment);
  run.cores_per_rank = fewest_cores(run.places);
  if (const auto cores = environment.find("cores"); cores != environment.end() && cores->is_number_integer())
    run.host_cores = cores->get<int>();
  flatten(environment, "", run.environment);
  flatten(json.value("tandem", Json::object()), "tandem.", run.environment);
  if (const auto window = run.config.find("window");
      window != run.config.end() && window->second.find(':') != std::string::npos)
    run.window = parse_window(window->second);
  return run;
}

/// Ranks that ended early end the run for all: what the others did after that, nobody waited for.
void cut_to_equal_steps(Run& run, std::vector<std::string>& problems) {
  const auto fewer = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  const auto [shortest, longest] = std::minmax_element(run.steps.begin(), run.steps.end(), fewer);
  if (shortest == run.steps.end()) return;
  const auto rank_of = [&](auto steps) {
    return run.logged_ranks[static_cast<std::size_t>(steps - run.steps.begin())];
  };
  const std::size_t least = shortest->size();
  if (least < longest->size())
    problems.push_back(fmt::format("{}: rank {} ended after {} steps, rank {} after {}: the run died there",
                                   run.directory, rank_of(shortest), least, rank_of(longest),
                                   longest->size()));
  if (longest->empty()) problems.push_back(fmt::format("{}: the run has no finished step", run.directory));
  for (auto& steps : run.steps) steps.resize(least);
}

}  // namespace

SalvagedRun salvage_run(const std::string& directory) {
  const fs::path folder = directory;
  if (!fs::is_directory(folder)) throw DataError("{}: no such folder", directory);
  SalvagedRun salvaged{parse_run(read_json(folder / "run.json"), folder / "run.json"), {}};
  Run& run = salvaged.run;
  run.finished = fs::exists(folder / "summary.json");
  for (int r = 0; r < run.ranks; ++r) {
    const std::size_t problems = salvaged.problems.size();
    auto steps = read_steps(folder / fmt::format("steps.rank{}.jsonl", r), salvaged.problems);
    if (steps.empty() && salvaged.problems.size() > problems) continue;  // missing, or damaged from its start
    run.steps.push_back(std::move(steps));
    run.logged_ranks.push_back(r);
  }
  cut_to_equal_steps(run, salvaged.problems);
  return salvaged;
}

Run read_run(const std::string& directory) {
  SalvagedRun salvaged = salvage_run(directory);
  if (!salvaged.problems.empty()) throw DataError("{}", salvaged.problems.front());
  return std::move(salvaged.run);
}

}  // namespace tandem

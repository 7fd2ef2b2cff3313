#include "bench/measured_run.h"

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "core/base/error.h"

namespace tandem::bench {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kOriginFile = "launch.json";

Origin read_origin(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return {};  // started by hand
  const Json json = Json::parse(file, nullptr, false);
  try {
    if (json.at("version").get<int>() != 1)
      throw DataError("{} has another format version than 1", path.string());
    return {json.at("round").get<int>(), json.at("uncoupled").get<int>()};
  } catch (const Json::exception&) {
    throw DataError("{} is damaged; without it the run counts as one started by hand", path.string());
  }
}

}  // namespace

MeasuredRun measure(const std::string& directory) {
  MeasuredRun measured{read_run(directory), {}, read_origin(fs::path(directory) / kOriginFile)};
  measured.summary = summarise(measured.run.steps, measured.run.window);
  measured.run.steps.clear();
  if (!measured.summary.window)
    throw DataError("{}: {}; run at least 15 steps, better 250", directory,
                    measured.summary.not_steady_because);
  return measured;
}

void write_origin(const std::string& directory, const Origin& origin) {
  const Json json{{"version", 1}, {"round", origin.round}, {"uncoupled", origin.uncoupled}};
  write_file((fs::path(directory) / kOriginFile).string(), json.dump(2) + "\n");
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream file(path, std::ios::trunc);
  file << content;
  file.flush();
  if (!file) throw DataError("{} cannot be written", path);
}

}  // namespace tandem::bench

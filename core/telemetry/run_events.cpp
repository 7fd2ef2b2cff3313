#include "core/telemetry/run_events.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "core/telemetry/step_line.h"

namespace tandem {

std::vector<EventRecord> read_events(const std::filesystem::path& run) {
  using Json = nlohmann::json;
  std::ifstream file(run / "events.jsonl");
  std::vector<EventRecord> events;
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, false);
    try {
      if (json.at("version") != kLogVersion) continue;
      EventRecord event;
      event.step = json.at("step");
      event.kind = json.at("event");
      if (!json.at("start_ms").is_null()) event.start_ms = json.at("start_ms").get<double>();
      event.duration_ms = json.at("duration_ms");
      event.inside_step = json.at("inside_step");
      event.text = json.at("text");
      events.push_back(std::move(event));
    } catch (const Json::exception&) {
    }
  }
  return events;
}

}  // namespace tandem

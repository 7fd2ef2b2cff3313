#include "core/telemetry/clocks.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/telemetry/step_line.h"

namespace tandem {

namespace {

using Json = nlohmann::json;

constexpr int kRounds = 16;  // the shortest round trip bounds the error best

/// Rank 0's side: asks `rank` for its time.
ClockReading ping(int rank, Communicator& control, Stream& stream) {
  ClockReading best;
  for (int i = 0; i < kRounds; ++i) {
    double theirs = 0;
    const Tensor message = Tensor::of(&theirs, {1});
    const double sent = clock_us();
    control.send(message, rank, stream);
    control.recv(message, rank, stream);
    stream.synchronize();
    const double received = clock_us(), middle = (sent + received) / 2, error = (received - sent) / 2;
    if (i == 0 || error < best.error_us) best = {middle, theirs - middle, error};
  }
  return best;
}

void pong(Communicator& control, Stream& stream) {
  for (int i = 0; i < kRounds; ++i) {
    double mine = 0;
    const Tensor message = Tensor::of(&mine, {1});
    control.recv(message, 0, stream);
    stream.synchronize();
    mine = clock_us();
    control.send(message, 0, stream);
    stream.synchronize();
  }
}

/// The offset at `own_us` of the rank's own clock, on the line through its readings.
double offset_at(const RankClock& clock, double own_us) {
  if (clock.readings.empty()) return 0;
  const ClockReading &first = clock.readings.front(), &last = clock.readings.back();
  const double between = last.at_us - first.at_us;
  if (between <= 0) return first.offset_us;
  const double share = std::clamp((own_us - first.offset_us - first.at_us) / between, 0.0, 1.0);
  return first.offset_us + share * (last.offset_us - first.offset_us);
}

}  // namespace

double clock_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::vector<ClockReading> read_clocks(Communicator& control, Stream& stream) {
  if (control.rank() != 0) {
    pong(control, stream);
    return {};
  }
  std::vector<ClockReading> readings{{.at_us = clock_us()}};
  for (int rank = 1; rank < control.size(); ++rank) readings.push_back(ping(rank, control, stream));
  return readings;
}

std::string clocks_json(const std::vector<RankClock>& ranks) {
  nlohmann::ordered_json json{{"version", kLogVersion}, {"ranks", nlohmann::ordered_json::array()}};
  for (const RankClock& clock : ranks) {
    nlohmann::ordered_json rank{{"first_step_us", clock.first_step_us},
                                {"readings", nlohmann::ordered_json::array()}};
    for (const ClockReading& r : clock.readings)
      rank["readings"].push_back({{"at_us", r.at_us}, {"offset_us", r.offset_us}, {"error_us", r.error_us}});
    json["ranks"].push_back(std::move(rank));
  }
  return json.dump(2) + "\n";
}

std::vector<RankClock> load_clocks(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return {};
  const Json json = Json::parse(file, nullptr, false);
  std::vector<RankClock> ranks;
  try {
    if (json.at("version") != kLogVersion) throw DataError("{} is of another version", path.string());
    for (const Json& rank : json.at("ranks")) {
      RankClock& clock = ranks.emplace_back();
      clock.first_step_us = rank.at("first_step_us");
      for (const Json& r : rank.at("readings"))
        clock.readings.push_back({r.at("at_us"), r.at("offset_us"), r.at("error_us")});
    }
  } catch (const Json::exception&) {
    throw DataError("{} is damaged; without it ranks are aligned by their first steps", path.string());
  }
  return ranks;
}

double ClockAlignment::common_us(int rank, double log_us) const {
  const auto r = static_cast<std::size_t>(rank);
  if (r >= ranks_.size()) return log_us;
  const double own_us = ranks_[r].first_step_us + log_us;
  return own_us - offset_at(ranks_[r], own_us) - ranks_[0].first_step_us;
}

std::optional<double> ClockAlignment::error_us() const {
  if (ranks_.empty()) return std::nullopt;
  double error = 0;
  for (const RankClock& clock : ranks_)
    for (const ClockReading& reading : clock.readings) error = std::max(error, reading.error_us);
  return error;
}

}  // namespace tandem

#include <nlohmann/json.hpp>

#include "core/telemetry/summary.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json interval(const std::optional<Interval>& value) {
  return value ? Json{value->low, value->high} : Json();
}

Json window(const Window& w) {
  return {{"first", w.first}, {"last", w.last}, {"steps", w.steps()}, {"short", w.shortened}};
}

Json bucket(const BucketSummary& b) {
  return {{"id", b.id},
          {"bytes", b.bytes},
          {"reductions", b.reductions},
          {"transfer_ms", b.transfer_ms},
          {"transfer_low_ms", b.transfer_low_ms},
          {"wait_ms", b.wait_ms},
          {"busbw_gb_s", number(b.busbw_gb_s)}};
}

/// The phases that RankSummary and Summary have in common, under the names of steps.rankR.jsonl.
template <class T>
void add_phases(Json& json, const T& of) {
  json["data_wait_ms"] = number(of.data_wait_ms);
  json["data_bubble_ms"] = number(of.data_bubble_ms);
  json["forward_ms"] = number(of.forward_ms);
  json["backward_ms"] = number(of.backward_ms);
  json["comm_busy_ms"] = number(of.comm_busy_ms);
  json["exposed_comm_ms"] = number(of.exposed_comm_ms);
  json["optimizer_ms"] = number(of.optimizer_ms);
  json["host_ms"] = number(of.host_ms);
}

Json rank(const RankSummary& r, std::size_t index) {
  Json json{{"rank", index}, {"step_ms", r.step_ms}, {"work_ms", number(r.work_ms)}};
  add_phases(json, r);
  json["exposed_wait_ms"] = number(r.exposed_wait_ms);
  json["exposed_transfer_ms"] = number(r.exposed_transfer_ms);
  return json;
}

}  // namespace

std::string to_json(const Summary& s) {
  // Without a window nothing was measured.
  const auto measured = [&](double value) { return s.window ? Json(value) : Json(); };
  Json json{{"version", 1}, {"steps_run", s.steps_run}};
  json["window"] = s.window ? window(*s.window) : Json();
  json["step_ms"] = measured(s.step_ms);
  json["step_ms_ci"] = interval(s.step_ms_ci);
  json["step_ms_median"] = measured(s.step_ms_median);
  json["step_ms_p90"] = measured(s.step_ms_p90);
  json["step_ms_p99"] = measured(s.step_ms_p99);
  json["samples_per_s"] = measured(s.samples_per_s);
  json["tokens_per_s"] = number(s.tokens_per_s);
  json["slowest_rank"] = s.window ? Json(s.slowest_rank) : Json();
  add_phases(json, s);
  json["overlap_ratio"] = number(s.overlap_ratio);
  json["skew"] = number(s.skew);
  json["slowest_share"] = number(s.slowest_share);
  json["skew_ci"] = interval(s.skew_ci);
  json["step_skew"] = number(s.step_skew);
  json["late_bytes"] = number(s.late_bytes);
  json["clock_spread"] = number(s.clock_spread);
  json["drift"] = measured(s.drift);
  json["steady"] = s.steady;
  json["not_steady_because"] = s.steady ? Json() : Json(s.not_steady_because);
  json["outlier_steps"] = s.outlier_steps;
  json["findings"] = s.findings;
  json["ranks"] = Json::array();
  for (std::size_t r = 0; r < s.ranks.size(); ++r) json["ranks"].push_back(rank(s.ranks[r], r));
  json["buckets"] = Json::array();
  for (const auto& b : s.buckets) json["buckets"].push_back(bucket(b));
  return json.dump(2) + "\n";
}

}  // namespace tandem

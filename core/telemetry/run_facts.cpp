#include "core/telemetry/run_facts.h"

#include <nlohmann/json.hpp>

#include "core/telemetry/step_line.h"

namespace tandem {

namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json buckets_json(const RunFacts& facts) {
  Json made = Json::array();
  for (const BucketFacts& bucket : facts.buckets)
    made.push_back(
        {{"bytes", bucket.bytes}, {"wire_bytes", bucket.wire_bytes}, {"parameters", bucket.parameters}});
  Json others = Json::array();
  for (std::size_t i = 0; i < facts.others.size(); ++i)
    others.push_back({{"id", facts.buckets.size() + i},
                      {"wire_bytes", facts.others[i].wire_bytes},
                      {"what", facts.others[i].what}});
  return {{"asked_mb", or_null(facts.bucket_mb)},
          {"asked_first_mb", or_null(facts.first_bucket_mb)},
          {"chosen", facts.cap_choice.empty() ? Json() : Json::parse(facts.cap_choice)},
          {"made", std::move(made)},
          {"other_collectives", std::move(others)}};
}

Json places_json(const std::vector<RankPlace>& places) {
  Json json = Json::array();
  for (const RankPlace& place : places)
    json.push_back({{"host", place.host}, {"allowed_cores", place.allowed_cores}, {"cores", place.cores}});
  return json;
}

Json or_null(const std::map<std::string, std::string>& texts, const char* name) {
  const auto found = texts.find(name);
  return found == texts.end() ? Json() : or_null(found->second);
}

/// Rank 0's GPU; null in every field where there is none.
Json gpu_json(const std::optional<GpuFacts>& gpu) {
  const GpuFacts none, &g = gpu ? *gpu : none;
  return {{"name", or_null(g.name)},
          {"driver", or_null(g.identity.driver)},
          {"cuda", or_null(g.cuda)},
          {"cublaslt", or_null(g.libraries, "cublaslt")},
          {"cudnn", or_null(g.libraries, "cudnn")},
          {"nccl", or_null(g.nccl)},
          {"max_sm_mhz", or_null(g.identity.max_sm_mhz)},
          {"power_cap_w", or_null(g.identity.power_cap_w)},
          {"nvlinks", or_null(g.identity.nvlinks)},
          {"processes", gpu ? Json(g.identity.processes) : Json()},
          {"topology", Json()},
          {"peer_access", Json()},
          {"nccl_transport", Json()}};
}

Json environment_json(const RunFacts& facts, const Environment& e) {
  Json nccl_conf = Json::object();
  for (const auto& [path, content] : e.nccl_conf) nccl_conf[path] = or_null(content);
  return {{"host", e.host},
          {"os", or_null(e.os)},
          {"kernel", e.kernel},
          {"cpu_model", or_null(e.cpu_model)},
          {"cpu_mhz", or_null(e.cpu_mhz)},
          {"governor", or_null(e.governor)},
          {"cores", e.cores},
          {"numa", Json(e.numa)},
          {"cgroup_cpus", or_null(e.cgroup_cpus)},
          {"memory_bytes", or_null(e.memory_bytes)},
          {"load_average", or_null(e.load_average)},
          {"runnable_tasks", or_null(e.runnable_tasks)},
          {"compiler", or_null(facts.compiler)},
          {"build_type", or_null(facts.build_type)},
          {"arch", or_null(facts.arch)},
          {"comm_backend", or_null(facts.backend)},
          {"mpi", or_null(facts.mpi_version)},
          {"ranks", places_json(facts.places)},
          {"gpu", gpu_json(facts.gpu)},
          {"variables", Json(e.variables)},
          {"nccl_conf", std::move(nccl_conf)}};
}

}  // namespace

std::vector<std::int64_t> wire_bytes_by_id(const RunFacts& facts) {
  std::vector<std::int64_t> bytes;
  for (const BucketFacts& bucket : facts.buckets) bytes.push_back(bucket.wire_bytes);
  for (const CollectiveFacts& other : facts.others) bytes.push_back(other.wire_bytes);
  return bytes;
}

std::string run_json(const RunFacts& f, const Environment& environment) {
  const Json json = {
      {"version", kLogVersion},
      {"started", or_null(f.started)},
      {"arguments", f.arguments},
      {"tandem", {{"version", f.version}, {"git", f.git}}},
      {"model", {{"name", f.model}, {"parameters", f.parameters}, {"bytes", f.parameter_bytes}}},
      {"model_flop", f.model_flop},
      {"peak_flops", or_null(f.peak_flops)},
      {"product_flops", or_null(f.product_flops)},
      {"dtype", f.dtype},
      {"optimizer", f.optimizer},
      {"data", or_null(f.data)},
      {"seed", f.seed},
      {"steps", f.steps},
      {"batch", f.batch},
      {"accumulate", f.accumulate},
      {"ranks", f.ranks},
      {"global_batch", f.global_batch},
      {"ddp", f.ddp},
      {"communicate", f.communicate},
      {"compute_threads", f.compute_threads},
      {"comm_hook", f.comm_hook},
      {"zero", f.zero},
      {"buckets", buckets_json(f)},
      {"injected", f.injected},
      {"probe_overhead", or_null(f.probe_overhead)},
      {"config", Json(f.config)},
      {"environment", environment_json(f, environment)},
  };
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tandem

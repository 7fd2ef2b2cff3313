#include "core/telemetry/run_facts.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

using Json = nlohmann::json;

TEST(RunJson, SaysWhatRan) {
  const RunFacts facts{.model = "gpt-nano",
                       .dtype = "f32",
                       .optimizer = "adamw",
                       .parameters = 3'300'000,
                       .parameter_bytes = 13'200'000,
                       .batch = 8,
                       .accumulate = 2,
                       .global_batch = 32,
                       .ranks = 2,
                       .seed = 17'000'000'000'000'000'000u,
                       .bucket_mb = 25.0,
                       .buckets = {{1024, 512, {"head.weight", "head.bias"}}},
                       .others = {{256, "gathers"}},
                       .comm_hook = "bf16",
                       .zero = 1,
                       .injected = {"slow=1:20"},
                       .arguments = {"train", "--batch", "8"},
                       .config = {{"batch", "8"}, {"optimizer", "adamw"}},
                       .git = "abc-dirty",
                       .mpi_version = "Open MPI v4.1.4",
                       .places = {{"host", "0-3", "0-1"}, {"host", "0-3", "2-3"}}};
  Environment environment;
  environment.host = "host";
  environment.variables = {{"OMPI_X", "1"}};
  environment.nccl_conf = {{"/etc/nccl.conf", "NCCL_DEBUG=INFO"}, {"~/.nccl.conf", std::nullopt}};

  const Json json = Json::parse(run_json(facts, environment));
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("arguments"), (Json{"train", "--batch", "8"}));
  EXPECT_EQ(json.at("tandem").at("git"), "abc-dirty");
  EXPECT_EQ(json.at("seed"), 17'000'000'000'000'000'000u);
  EXPECT_EQ(json.at("model"), (Json{{"name", "gpt-nano"}, {"parameters", 3'300'000}, {"bytes", 13'200'000}}));
  EXPECT_EQ(json.at("batch"), 8);
  EXPECT_EQ(json.at("accumulate"), 2);
  EXPECT_EQ(json.at("ranks"), 2);
  EXPECT_EQ(json.at("global_batch"), 32);
  EXPECT_EQ(json.at("buckets").at("asked_mb"), 25.0);
  EXPECT_TRUE(json.at("buckets").at("asked_first_mb").is_null());
  EXPECT_EQ(json.at("buckets").at("made"),
            Json::parse(R"([{"bytes":1024,"wire_bytes":512,"parameters":["head.weight","head.bias"]}])"));
  EXPECT_EQ(json.at("buckets").at("other_collectives"),
            Json::parse(R"([{"id":1,"wire_bytes":256,"what":"gathers"}])"));
  EXPECT_EQ(wire_bytes_by_id(facts), (std::vector<std::int64_t>{512, 256}));
  EXPECT_EQ(json.at("comm_hook"), "bf16");
  EXPECT_EQ(json.at("zero"), 1);
  EXPECT_EQ(json.at("injected"), Json{"slow=1:20"});
  EXPECT_TRUE(json.at("probe_overhead").is_null());
  EXPECT_EQ(json.at("config").at("optimizer"), "adamw");
  const Json& e = json.at("environment");
  EXPECT_EQ(e.at("mpi"), "Open MPI v4.1.4");
  EXPECT_EQ(e.at("variables"), (Json{{"OMPI_X", "1"}}));
  EXPECT_EQ(e.at("nccl_conf").at("/etc/nccl.conf"), "NCCL_DEBUG=INFO");
  EXPECT_TRUE(e.at("nccl_conf").at("~/.nccl.conf").is_null());
  EXPECT_EQ(e.at("ranks").at(1), (Json{{"host", "host"}, {"allowed_cores", "0-3"}, {"cores", "2-3"}}));
  for (const auto& [name, value] : e.at("gpu").items()) EXPECT_TRUE(value.is_null()) << name;
}

}  // namespace
}  // namespace tandem

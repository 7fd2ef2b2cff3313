#include "core/telemetry/step_line.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

using Json = nlohmann::json;

std::string line_of(const StepRecord& record) {
  fmt::memory_buffer line;
  append_step_line(record, line);
  return fmt::to_string(line);
}

TEST(StepLine, HoldsEveryFieldOfMeasuring) {
  std::mt19937_64 random(std::random_device{}());
  std::uniform_real_distribution<double> value(0, 1e5);
  StepRecord r;
  r.step = 123456789012;
  r.start_ms = value(random);
  r.step_ms = value(random);
  r.samples = 8;
  r.tokens = 1024;
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
  for (const auto& [name, member] : fields) r.*member = value(random);
  r.buckets = {{3, 1 << 20, 1.5, 2.25, 3.125, 4.0, 5.0, 6.0}, {4, 7, 0, 0, 0, 0, 0, {}}};
  r.phases = {{Phase::backward, 1.5, 2.25}};

  const std::string line = line_of(r);
  EXPECT_EQ(line.back(), '\n');
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
  const Json json = Json::parse(line);
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("step"), r.step);
  EXPECT_EQ(json.at("samples"), 8);
  EXPECT_EQ(json.at("tokens"), 1024);
  EXPECT_NEAR(json.at("start_ms"), r.start_ms, 5e-7);
  EXPECT_NEAR(json.at("step_ms"), r.step_ms, 5e-7);
  for (const auto& [name, member] : fields) EXPECT_NEAR(json.at(name), *(r.*member), 5e-7) << name;
  EXPECT_EQ(json.at("loss"), *r.loss) << "what is no time is written exactly";
  EXPECT_EQ(json.at("buckets").size(), 2u);
  EXPECT_EQ(json["buckets"][0], Json::parse(R"({"id":3,"bytes":1048576,"ready_us":1.5,"start_us":2.25,
      "end_us":3.125,"wait_start_us":4.0,"wait_end_us":5.0,"applied_us":6.0})"));
  EXPECT_FALSE(json["buckets"][1].contains("applied_us"));
  EXPECT_EQ(json.at("phases"), Json::parse(R"([{"phase":"backward","start_us":1.5,"end_us":2.25}])"));
  EXPECT_EQ(json.size(), 5 + std::size(fields) + 3) << "and nothing else";
}

TEST(StepLine, WhatWasNotMeasuredIsNull) {
  StepRecord r;
  r.loss = std::numeric_limits<double>::quiet_NaN();
  r.grad_norm = std::numeric_limits<double>::infinity();
  const Json json = Json::parse(line_of(r));
  for (const char* name : {"host_ms", "data_wait_ms", "data_bubble_ms", "h2d_ms", "forward_ms", "backward_ms",
                           "comm_busy_ms", "exposed_comm_ms", "optimizer_ms", "host_gap_ms", "loss",
                           "grad_norm", "lr", "loss_scale", "sm_mhz", "power_w"})
    EXPECT_TRUE(json.at(name).is_null()) << name;
  EXPECT_EQ(json.at("step_ms"), 0);
  EXPECT_EQ(json.at("buckets"), Json::array());
}

TEST(EventLine, SurvivesAnyText) {
  EventRecord event{
      .step = 4, .kind = "evaluation", .start_ms = 1.25, .duration_ms = 2.5, .text = "a \"b\"\n\\ é \xff"};
  fmt::memory_buffer line;
  append_event_line(event, line);
  const std::string text = fmt::to_string(line);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const Json json = Json::parse(text);
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("step"), 4);
  EXPECT_EQ(json.at("event"), "evaluation");
  EXPECT_EQ(json.at("start_ms"), 1.25);
  EXPECT_EQ(json.at("duration_ms"), 2.5);
  EXPECT_EQ(json.at("inside_step"), false);
  EXPECT_EQ(json.at("text"), "a \"b\"\n\\ é \xEF\xBF\xBD");
}

}  // namespace
}  // namespace tandem

#include "core/telemetry/summary.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

/// A step of 50 ms with one bucket whose transfer takes 4 ms; a rank that comes `early` waits for its peer
/// that much longer.
StepRecord step(std::int64_t number, double late_ms, double waits_ms) {
  StepRecord record;
  record.step = number;
  record.step_ms = 50 + late_ms + waits_ms;
  record.data_wait_ms = record.data_bubble_ms = 1;
  record.forward_ms = 15 + late_ms;
  record.backward_ms = 25;
  record.exposed_comm_ms = 4 + waits_ms;
  record.comm_busy_ms = 4 + waits_ms;
  record.optimizer_ms = 4;
  record.host_ms = 1;
  record.samples = 8;
  BucketRecord bucket;
  bucket.bytes = 4'000'000;
  bucket.ready_us = bucket.start_us = 1e3 * (41 + late_ms);
  bucket.end_us = bucket.start_us + 1e3 * (4 + waits_ms);
  bucket.wait_start_us = bucket.start_us;
  bucket.wait_end_us = bucket.end_us;
  record.buckets.push_back(bucket);
  return record;
}

std::vector<StepRecord> rank(int steps, double late_ms, double waits_ms) {
  std::vector<StepRecord> records;
  for (int i = 0; i < steps; ++i) records.push_back(step(i, late_ms, waits_ms));
  return records;
}

TEST(Summary, AHealthyRunIsAddedUp) {
  const Summary s = summarise({rank(300, 0, 0), rank(300, 0, 0)}, {});
  ASSERT_TRUE(s.window);
  EXPECT_EQ(s.window->first, 50);
  EXPECT_DOUBLE_EQ(s.step_ms, 50);
  EXPECT_DOUBLE_EQ(s.step_ms_p99, 50);
  EXPECT_DOUBLE_EQ(s.samples_per_s, 16 / 0.050);
  EXPECT_NEAR(*s.skew, 0, 1e-12);
  EXPECT_TRUE(s.findings.empty());
  EXPECT_NEAR(s.buckets.at(0).transfer_ms, 4, 1e-9);
  EXPECT_NEAR(*s.buckets.at(0).busbw_gb_s, 1.0, 1e-9);  // 4 MB in 4 ms, times 2(P − 1)/P = 1
}

TEST(Summary, ALateRankIsChargedToItsPeersWaitAndNamed) {
  const Summary s = summarise({rank(300, 0, 20), rank(300, 20, 0)}, {});
  EXPECT_DOUBLE_EQ(s.step_ms, 70);
  EXPECT_NEAR(s.buckets.at(0).transfer_ms, 4, 1e-9);
  EXPECT_NEAR(s.buckets.at(0).wait_ms.at(0), 20, 1e-9);
  EXPECT_NEAR(s.buckets.at(0).wait_ms.at(1), 0, 1e-9);
  EXPECT_NEAR(*s.ranks.at(0).exposed_wait_ms, 20, 1e-9)
      << "rank 0 is early: it waits for its peer, then 4 ms";
  EXPECT_NEAR(*s.ranks.at(0).exposed_transfer_ms, 4, 1e-9);
  EXPECT_NEAR(*s.ranks.at(1).exposed_wait_ms, 0, 1e-9);
  EXPECT_NEAR(*s.ranks.at(1).exposed_transfer_ms, 4, 1e-9);
  EXPECT_EQ(s.slowest_rank, 1);
  EXPECT_NEAR(*s.skew, 20.0 / 46, 1e-9);  // (66 − 46)/46
  EXPECT_NEAR(s.skew_ci->low, 20.0 / 46, 1e-9);
  EXPECT_NEAR(*s.step_skew, 20.0 / 46, 1e-9);
  EXPECT_NEAR(s.buckets.at(0).transfer_low_ms, 4, 1e-9);
  ASSERT_EQ(s.findings.size(), 1u);
  EXPECT_NE(s.findings[0].find("straggler: rank 1"), std::string::npos) << s.findings[0];
}

TEST(Summary, WhatWasNotMeasuredIsNull) {
  auto records = rank(300, 0, 0);
  for (StepRecord& r : records) {
    r.forward_ms = r.backward_ms = r.exposed_comm_ms = r.comm_busy_ms = r.optimizer_ms = r.data_wait_ms = {};
    r.buckets.clear();
  }
  const auto json = nlohmann::json::parse(to_json(summarise({records}, {})));
  EXPECT_DOUBLE_EQ(json.at("step_ms"), 50);
  for (const char* key : {"forward_ms", "backward_ms", "exposed_comm_ms", "overlap_ratio"})
    EXPECT_TRUE(json.at(key).is_null()) << key;
}

TEST(Summary, ShortRunsAreLabelledAndTinyOnesHaveNoFigures) {
  EXPECT_TRUE(summarise({rank(100, 0, 0)}, {}).window->shortened);
  EXPECT_FALSE(summarise({rank(14, 0, 0)}, {}).window);
  const Summary chosen = summarise({rank(30, 0, 0)}, Window{5, 9, false});
  EXPECT_EQ(chosen.window->steps(), 5);
}

TEST(Summary, WarmUpInTheWindowIsNotSteady) {
  auto records = rank(300, 0, 0);
  for (int i = 50; i < 90; ++i) records[static_cast<std::size_t>(i)].step_ms += 90 - i;
  const Summary s = summarise({records}, {});
  EXPECT_FALSE(s.steady);
  EXPECT_FALSE(s.not_steady_because.empty());
}

}  // namespace
}  // namespace tandem

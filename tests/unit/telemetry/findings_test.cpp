#include "core/telemetry/findings.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

/// A healthy step of 100 ms on two ranks: 5 buckets of 4 MB, 2 ms each, of which 2 ms are exposed.
Summary healthy() {
  Summary s;
  s.steps_run = 300;
  s.window = Window{50, 249, false};
  s.step_ms = 100;
  s.backward_ms = 50;
  s.skew = s.step_skew = 0.01;
  s.slowest_share = 0.5;
  s.late_bytes = 0.2;
  for (int r = 0; r < 2; ++r) {
    RankSummary rank;
    rank.step_ms = 100;
    rank.work_ms = 98;
    rank.data_wait_ms = 0.1;
    rank.exposed_comm_ms = rank.exposed_transfer_ms = 2;
    rank.exposed_wait_ms = 0;
    s.ranks.push_back(rank);
  }
  for (int b = 0; b < 5; ++b)
    s.buckets.push_back({b, 4'000'000 + 1000 * b, 1, 2 + 0.0005 * b, {0, 0}, 2 + 0.0005 * b, {}});
  return s;
}

RankSummary& slowest(Summary& s) {
  return s.ranks.at(static_cast<std::size_t>(s.slowest_rank));
}

std::string only_finding(const Summary& s) {
  const auto found = find_causes(s);
  EXPECT_EQ(found.size(), 1u) << fmt::format("{}", fmt::join(found, " | "));
  return found.empty() ? "" : found[0].substr(0, found[0].find(':'));
}

TEST(Findings, AHealthyRunHasNone) {
  EXPECT_TRUE(find_causes(healthy()).empty());
  Summary unmeasured = healthy();
  unmeasured.window = {};
  unmeasured.ranks[0].data_wait_ms = 50;
  EXPECT_TRUE(find_causes(unmeasured).empty());
}

TEST(Findings, Stragglers) {
  Summary s = healthy();
  s.skew = 0.3;
  s.slowest_share = 0.9;
  s.ranks[0].work_ms = 127;
  EXPECT_EQ(only_finding(s), "straggler");
  s.skew_ci = Interval{0.04, 0.56};
  EXPECT_TRUE(find_causes(s).empty()) << "may be chance";
  s.skew = 0.02;
  s.step_skew = 0.3;
  s.slowest_share = 0.55;
  EXPECT_EQ(only_finding(s), "random straggler");
  s.step_skew = 0.09;
  EXPECT_TRUE(find_causes(s).empty());
}

TEST(Findings, ALinkThatDecides) {
  Summary s = healthy();
  for (auto& b : s.buckets) b.transfer_ms *= 8;  // 80 ms: backward hides 50
  slowest(s).exposed_transfer_ms = 32;
  EXPECT_EQ(only_finding(s), "transfer-bound");
  for (auto& b : s.buckets) b.wait_ms = {40, 40};
  EXPECT_TRUE(find_causes(s).empty()) << "most of it is waiting";
  s = healthy();
  for (auto& b : s.buckets) b.transfer_ms *= 5;  // 50 ms, nearly all hidden
  EXPECT_TRUE(find_causes(s).empty()) << "what hides costs nothing";
}

TEST(Findings, OverlapThatIsMissing) {
  Summary s = healthy();
  slowest(s).exposed_transfer_ms = 9;  // of 10
  EXPECT_EQ(only_finding(s), "no overlap");
  s.late_bytes = 0.9;
  EXPECT_EQ(only_finding(s), "late gradients");
  slowest(s).exposed_transfer_ms = 1;
  EXPECT_TRUE(find_causes(s).empty());
}

TEST(Findings, BucketsThatAreTooSmall) {
  Summary s = healthy();
  s.buckets.clear();
  for (int b = 0; b < 50; ++b)
    s.buckets.push_back({b, 1000 * (b + 1), 1, 0.2, {0, 0}, 0.1 + 1e-7 * 1000 * (b + 1), {}});
  EXPECT_EQ(only_finding(s), "latency-bound buckets");
  for (int b = 0; b < 10; ++b)
    s.buckets[static_cast<std::size_t>(b)].transfer_low_ms = 7;  // hindered by backward
  EXPECT_EQ(only_finding(s), "latency-bound buckets");
  for (int b = 0; b < 50; b += 2) s.buckets[static_cast<std::size_t>(b)].transfer_low_ms = 3 + b % 5;
  EXPECT_TRUE(find_causes(s).empty()) << "no line fits: nothing is said";
  for (auto& b : s.buckets) b.transfer_low_ms = 0.1;
  s.step_ms = 1000;  // 5 ms of latency are under 2% of it
  EXPECT_TRUE(find_causes(s).empty());
}

TEST(Findings, AccumulationThatCommunicatesEachTime) {
  Summary s = healthy();
  for (auto& b : s.buckets) b.reductions = 4;
  slowest(s).exposed_transfer_ms = 4;
  EXPECT_EQ(only_finding(s), "hidden accumulation cost");
}

TEST(Findings, InputLaunchesAndClocks) {
  Summary s = healthy();
  slowest(s).data_wait_ms = 4;
  EXPECT_EQ(only_finding(s), "data-bound");
  slowest(s).data_bubble_ms = 0.5;
  EXPECT_TRUE(find_causes(s).empty()) << "the host waits, the device does not";
  slowest(s).host_gap_ms = 11;
  EXPECT_EQ(only_finding(s), "launch-bound");
  s = healthy();
  s.clock_spread = 0.05;
  EXPECT_EQ(only_finding(s), "clocks");
}

TEST(Findings, OneRankAloneHasNothingToReduce) {
  Summary s = healthy();
  s.ranks.resize(1);
  slowest(s).exposed_transfer_ms = 50;
  EXPECT_TRUE(find_causes(s).empty());
}

TEST(Findings, CoresThatAreShared) {
  const auto found = find_causes({{"a", "0-1", "0"}, {"a", "0-1", "0"}}, 2, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].find("cores: the 2 ranks of a may run on 1 core (0)"), 0u) << found[0];
  EXPECT_TRUE(find_causes({{"a", "0-1", "0"}, {"a", "0-1", "1"}}, 2, 1).empty());
  EXPECT_TRUE(find_causes({{"a", "0", "0"}, {"a", "0", "0"}}, 1, 1).empty()) << "the host has no more";
  EXPECT_TRUE(find_causes({{"a", "0", "0"}, {"b", "0", "0"}}, 8, 1).empty()) << "another host has its own";
  EXPECT_EQ(find_causes({{"a", "0-7", "2"}}, 8, 4).size(), 1u) << "4 threads on one core";
  EXPECT_TRUE(find_causes({}, 8, 1).empty());
}

}  // namespace
}  // namespace tandem

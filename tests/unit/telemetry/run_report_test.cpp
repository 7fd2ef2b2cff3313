#include "core/telemetry/run_report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace tandem {
namespace {

Summary sample() {
  Summary s;
  s.steps_run = 300;
  s.window = Window{50, 249, false};
  s.step_ms = 71.234;
  s.step_ms_ci = Interval{70.9, 71.6};
  s.step_ms_median = 71;
  s.step_ms_p90 = 72.5;
  s.step_ms_p99 = 80.25;
  s.samples_per_s = 224.6;
  s.tokens_per_s = 28'750;
  s.ranks.resize(2);
  s.slowest_rank = 1;
  s.ranks[1].step_ms = 70;
  s.data_wait_ms = s.data_bubble_ms = 0.07;
  s.forward_ms = 21;
  s.backward_ms = 35;
  s.exposed_comm_ms = 7;
  s.optimizer_ms = 6.3;
  s.host_ms = 0.63;
  s.comm_busy_ms = 28;
  s.overlap_ratio = 0.75;
  s.skew = 0.012;
  s.steady = true;
  return s;
}

TEST(RunReport, ReadsLikeThis) {
  EXPECT_EQ(run_report(sample(),
                       {.ranks = 2, .folder = "runs/x", .scaling_command = "build/tandem scaling --np 1,2"}),
            R"(Steps 50 to 249 of 300 on 2 ranks
  step time    mean 71.23 ms [70.90, 71.60]   median 71.00   p90 72.50   p99 80.25
  throughput   224.6 samples/s   28.75 K tokens/s
  where it went, on the slowest rank (1)
    data              0.07 ms    0.1%
    forward          21.00 ms   30.0%  ############
    backward         35.00 ms   50.0%  ####################
    exposed comm      7.00 ms   10.0%  ####
    optimizer         6.30 ms    9.0%  ####
    rest (host)       0.63 ms    0.9%
  overlap      75%: 28.00 ms of communication, 7.00 ms exposed
  skew         1.2% between ranks
Logs: runs/x
Scaling efficiency: build/tandem scaling --np 1,2
)");
}

TEST(RunReport, SaysHowMuchOfAGpuIsUsed) {
  ReportFacts facts{.ranks = 2, .model_flop = 1e9, .peak_flops = 100e12, .product_flops = 80e12};
  const double per_rank = *sample().tokens_per_s / 2 * 1e9;  // some 14 TFLOP/s
  EXPECT_NE(run_report(sample(), facts)
                .find(fmt::format(
                    "  utilisation  {:.1f} TFLOP/s of the model a GPU: MFU {:.1f}% of 100, {:.1f}% of the 80 "
                    "that it reaches in a large product\n",
                    per_rank * 1e-12, per_rank / 1e12, per_rank / 80e10)),
            std::string::npos);
}

TEST(RunReport, LeavesOutWhatWasNotMeasured) {
  Summary s = sample();
  s.window->shortened = true;
  s.step_ms_ci = {};
  s.tokens_per_s = {};
  s.forward_ms = s.backward_ms = s.data_wait_ms = s.optimizer_ms = s.exposed_comm_ms = s.comm_busy_ms =
      s.host_ms = {};
  s.overlap_ratio = s.skew = {};
  s.steady = false;
  s.not_steady_because = "the run is short";
  s.findings = {"straggler: rank 1"};
  EXPECT_EQ(run_report(s, {.ranks = 1, .folder = "f", .scaling_command = "c"}),
            R"(Steps 50 to 249 of 300 on 1 rank (short window)
  step time    mean 71.23 ms   median 71.00   p90 72.50   p99 80.25
  throughput   224.6 samples/s
  not steady   the run is short
finding: straggler: rank 1
Logs: f
Scaling efficiency: c
)");
  s.window.reset();
  s.findings.clear();
  EXPECT_EQ(run_report(s, {.folder = "f", .scaling_command = "c"}),
            "No figures: the run is short\nLogs: f\nScaling efficiency: c\n");
}

TEST(RunReport, TellsTheStepAtOtherNumbersOfRanks) {
  const std::string text =
      run_report(sample(), {.ranks = 2, .folder = "f", .scaling_command = "c", .outlook = "4 ranks 12 ms"});
  EXPECT_NE(text.find("  outlook      4 ranks 12 ms (predicted"), std::string::npos) << text;
}

TEST(BucketTable, ShowsWhatEachHolds) {
  RunFacts facts;
  facts.buckets = {{1 << 20, 1 << 20, {"head.weight", "ln.bias"}},
                   {26'214'400, 26'214'400, {"embedding"}},
                   {256, 256, {}}};
  EXPECT_EQ(bucket_table(facts), R"(Buckets, in launch order
    #       bytes  parameters  from .. to
    0       1 MiB           2  head.weight .. ln.bias
    1      25 MiB           1  embedding
    2       256 B           0
  all      26 MiB           3
)");
}

TEST(BucketTable, ShowsWhatTravelsWhereThatDiffers) {
  RunFacts facts;
  facts.buckets = {{1 << 20, 1 << 19, {"head.weight", "ln.bias"}}, {256, 128, {"embedding"}}};
  facts.others = {{1 << 18, "gathers the new values of bucket 0"}};
  EXPECT_EQ(bucket_table(facts), R"(Buckets, in launch order
    #       bytes  on the wire  parameters  from .. to
    0       1 MiB      512 KiB           2  head.weight .. ln.bias
    1       256 B        128 B           1  embedding
  all       1 MiB    512.1 KiB           3
    2                  256 KiB  gathers the new values of bucket 0
)");
}

}  // namespace
}  // namespace tandem

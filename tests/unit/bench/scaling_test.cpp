#include "bench/scaling.h"

#include <gtest/gtest.h>

#include "bench/fairness.h"
#include "bench/train_options.h"
#include "bench/verdict.h"
#include "core/base/error.h"
#include "core/base/philox.h"

namespace tandem::bench {
namespace {

/// A finished run of `ranks` ranks whose steps take about `step_ms`.
MeasuredRun run_of(int ranks, std::int64_t batch, double step_ms, bool ddp, std::uint64_t launch) {
  MeasuredRun measured;
  Run& run = measured.run;
  run.directory = "run";
  run.model = "mlp";
  run.dtype = "fp32";
  run.optimizer = "sgd";
  run.parameters = 1000;
  run.batch = batch;
  run.ranks = ranks;
  run.global_batch = batch * ranks;
  run.ddp = run.communicate = ddp;
  Philox random(3, 100 * launch + static_cast<std::uint64_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    auto& steps = run.steps.emplace_back();
    for (std::int64_t i = 0; i < 300; ++i) {
      StepRecord step;
      step.step = i;
      step.step_ms = step_ms * (1 + 0.001 * random.normal());
      step.exposed_comm_ms = 0;
      step.samples = batch;
      steps.push_back(step);
    }
  }
  measured.summary = summarise(run.steps, {});
  return measured;
}

double efficiency(const ScalingReport& report, int ranks) {
  for (const ScalingRow& row : report.rows)
    if (row.group.run().ranks == ranks) return row.against.at(0).efficiency;
  throw ContractError("no row of {} ranks", ranks);
}

TEST(Scaling, WeakEfficiencyIsThroughputOverPTimesTheBaselines) {
  const auto report = scale({run_of(1, 8, 10, false, 0), run_of(2, 8, 12.5, true, 0)}, {Regime::weak});
  EXPECT_NEAR(efficiency(report, 2), 0.8, 0.002);  // 10 / 12.5
}

TEST(Scaling, StrongEfficiencyIsSpeedUpOverP) {
  const auto report = scale({run_of(1, 16, 20, false, 0), run_of(2, 8, 12.5, true, 0)}, {Regime::strong});
  EXPECT_NEAR(efficiency(report, 2), 0.8, 0.002);  // 20 / 12.5 / 2
}

TEST(Scaling, RefusesWhatDoesNotCompare) {
  const auto base = run_of(1, 8, 10, false, 0);
  const auto refuse = [&](auto change, const std::string& reason) {
    auto other = run_of(2, 8, 12, true, 0);
    change(other.run);
    try {
      scale({base, other}, {Regime::weak});
      ADD_FAILURE() << "compared in spite of " << reason;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  };
  refuse([](tandem::Run& r) { r.model = "gpt-nano"; }, "model");
  refuse([](tandem::Run& r) { r.dtype = "bf16"; }, "dtype");
  refuse([](tandem::Run& r) { r.optimizer = "adamw"; }, "optimizer");
  refuse([](tandem::Run& r) { r.compute_threads = 2; }, "compute");
  refuse([](tandem::Run& r) { r.accumulate = 2; }, "accumul");
}

TEST(Scaling, NeedsABaseline) {
  EXPECT_THROW(scale({run_of(2, 8, 12, true, 0)}, {Regime::weak}), DataError);
}

TEST(Verdict, NamesTheBandsOfTheDocumentation) {
  EXPECT_EQ(band(0.97), "excellent");
  EXPECT_EQ(band(0.90), "healthy");
  EXPECT_EQ(band(0.82), "acceptable");
  EXPECT_EQ(band(0.75), "investigate");
  EXPECT_EQ(band(0.60), "broken");
}

TEST(TrainOptions, AreReadAndReplaced) {
  TrainOptions options({"--batch", "8", "--bucket-mb=5", "--no-overlap", "--batch", "16"});
  EXPECT_EQ(options.count("--batch"), 16);
  EXPECT_EQ(options.value("--bucket-mb"), "5");
  EXPECT_TRUE(options.has("--no-overlap"));
  options.set("--bucket-mb", "1");
  EXPECT_EQ(options.value("--bucket-mb"), "1");
  EXPECT_THROW(TrainOptions({"--batch", "x"}).count("--batch"), UsageError);
}

}  // namespace
}  // namespace tandem::bench

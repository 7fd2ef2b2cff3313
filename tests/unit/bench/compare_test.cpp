#include "bench/compare.h"

#include <gtest/gtest.h>

#include "core/base/philox.h"

namespace tandem::bench {
namespace {

ComparedRun run_of(double step_ms, std::uint64_t launch, std::map<std::string, std::string> config = {},
                   std::map<std::string, std::string> environment = {}) {
  ComparedRun compared;
  Run& run = compared.run;
  run.directory = launch == 1 ? "before" : "after";
  run.ranks = 2;
  run.batch = 8;
  run.config = {{"bucket_mb", "25"}, {"overlap", "default"}, {"log_dir", run.directory}};
  for (auto& [key, value] : config) run.config[key] = value;
  run.environment = {{"cpu_model", "X"}, {"load_average", "0.10"}, {"kernel", "6.1"}};
  for (auto& [key, value] : environment) run.environment[key] = value;
  for (int rank = 0; rank < 2; ++rank) {
    Philox random(launch, static_cast<std::uint64_t>(rank));
    run.logged_ranks.push_back(rank);
    auto& steps = run.steps.emplace_back();
    for (std::int64_t k = 0; k < 300; ++k) {
      StepRecord step;
      step.step = k;
      step.step_ms = step_ms * (1 + 0.002 * random.normal());
      step.backward_ms = step_ms / 2;
      step.forward_ms = 3;
      step.samples = 8;
      steps.push_back(step);
    }
  }
  compared.summary = summarise(run.steps, {});
  return compared;
}

bool finds(const RunComparison& c, const std::string& text) {
  return std::any_of(c.findings.begin(), c.findings.end(),
                     [&](const auto& line) { return line.find(text) != std::string::npos; });
}

TEST(Compare, TheSameTwiceIsNoDifferent) {
  const auto c = compare_runs(run_of(50, 1), run_of(50, 2));
  EXPECT_TRUE(c.differences.empty());
  EXPECT_EQ(c.verdict, "no different");
  EXPECT_TRUE(c.throughput_ci->contains(1));
  EXPECT_TRUE(c.findings.empty());
}

TEST(Compare, OneOptionIsTheCauseAndNoRegression) {
  const auto c = compare_runs(run_of(50, 1), run_of(60, 2, {{"bucket_mb", "1"}}));
  EXPECT_EQ(c.verdict, "slower");
  EXPECT_NEAR(*c.throughput_ratio, 50.0 / 60, 0.005);
  EXPECT_EQ(c.changed, (std::vector<std::string>{"bucket_mb"}));
  EXPECT_EQ(c.parts.at(0).name, "backward");
  EXPECT_TRUE(c.findings.empty());
}

TEST(Compare, TwoChangesAtOnceAreCalledOut) {
  const auto c =
      compare_runs(run_of(50, 1), run_of(45, 2, {{"bucket_mb", "1"}, {"overlap", "false"}, {"seed", "3"}}));
  EXPECT_EQ(c.verdict, "faster");
  EXPECT_TRUE(finds(c, "two changes at once: bucket_mb, overlap")) << "a seed is none";
}

TEST(Compare, ARegressionNamesTheEnvironmentThatDiffers) {
  const auto slow = run_of(53, 2, {}, {{"cpu_model", "Y"}, {"load_average", "3.00"}});
  const auto c = compare_runs(run_of(50, 1), slow);
  EXPECT_TRUE(finds(c, "regression: "));
  EXPECT_TRUE(finds(c, "cpu_model X / Y"));
  EXPECT_TRUE(finds(c, "load_average"));
  EXPECT_TRUE(compare_runs(run_of(50, 1), run_of(50.8, 2)).findings.empty()) << "under three points";
  EXPECT_TRUE(compare_runs(run_of(50, 1), run_of(40, 2)).findings.empty()) << "faster is none";
}

TEST(Compare, TheMostSuspiciousComesFirst) {
  const auto c = compare_runs(
      run_of(50, 1),
      run_of(50, 2, {{"lr", "0.5"}, {"batch", "16"}, {"inject", "slow=1:5"}, {"bucket_mb", "5"}},
             {{"kernel", "6.2"}, {"build_type", "Debug"}, {"cpu_model", "Y"}, {"load_average", "0.2"}}));
  std::vector<std::string> names;
  for (const auto& d : c.differences) names.push_back(d.name);
  EXPECT_EQ(names, (std::vector<std::string>{"inject", "batch", "bucket_mb", "cpu_model", "kernel", "lr",
                                             "load_average"}))
      << "a build type that one run does not know is no difference";
}

TEST(Compare, WithoutFiguresOfOneTheRestIsSaid) {
  auto broken = run_of(50, 2, {{"bucket_mb", "1"}});
  broken.summary = {};
  broken.summary.not_steady_because = "no rank's steps can be read";
  const auto a = run_of(50, 1);
  const auto c = compare_runs(a, broken);
  EXPECT_NE(c.verdict.find("not compared: after"), std::string::npos) << c.verdict;
  EXPECT_FALSE(c.throughput_ratio);
  EXPECT_EQ(c.differences.size(), 1u);
  EXPECT_NE(to_text(c, a, broken).find("bucket_mb"), std::string::npos);
}

}  // namespace
}  // namespace tandem::bench

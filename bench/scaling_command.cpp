#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include "bench/commands.h"
#include "bench/launch_arguments.h"
#include "bench/prediction.h"
#include "bench/scaling_output.h"
#include "bench/scaling_plan.h"

namespace tandem::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostSteps = 2000;
constexpr int kMostDoublings = 2;

struct ScalingArguments {
  std::vector<int> ranks{1, 2};
  std::string regime = "weak";
  std::vector<std::string> from;
  std::vector<int> predict;
  std::string links;
  LaunchArguments launch;
};

void say(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

std::vector<Regime> parse_regime(const std::string& text) {
  if (text == "weak") return {Regime::weak};
  if (text == "strong") return {Regime::strong};
  if (text == "both") return {Regime::weak, Regime::strong};
  throw UsageError("--regime {}: choose weak, strong or both", text);
}

std::vector<MeasuredRun> flatten(std::vector<std::vector<MeasuredRun>> by_configuration) {
  std::vector<MeasuredRun> runs;
  for (auto& copies : by_configuration)
    for (auto& run : copies) runs.push_back(std::move(run));
  return runs;
}

bool all_steady(const std::vector<MeasuredRun>& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const MeasuredRun& m) { return m.summary.steady; });
}

/// The first round shows whether runs become steady; where they do not, it is put aside and done again with
/// twice the steps.
std::vector<MeasuredRun> first_round(ScalingPlan& plan, const Launcher& launcher, const std::string& folder,
                                     int rounds, bool may_lengthen) {
  for (int doubling = 0;; ++doubling) {
    auto runs = flatten(Rounds(launcher, folder, plan.configurations, plan.most_ranks, say).run(1, rounds));
    const bool again = may_lengthen && plan.steps && doubling < kMostDoublings &&
                       2 * *plan.steps <= kMostSteps && !all_steady(runs);
    if (!again) return runs;
    fs::rename(fs::path(folder) / "runs", fs::path(folder) / fmt::format("not-steady-{}", *plan.steps));
    lengthen(plan, 2 * *plan.steps);
    say(fmt::format("not steady: once more with {} steps", *plan.steps));
  }
}

std::vector<MeasuredRun> launch_all(const ScalingArguments& arguments, const TrainOptions& options,
                                    const std::string& folder) {
  const Launcher launcher = arguments.launch.make_launcher();
  ScalingPlan plan =
      plan_scaling({arguments.ranks, parse_regime(arguments.regime), options, launcher.local()});
  const int rounds = arguments.launch.rounds();
  say(fmt::format("{} configurations, {} rounds, into {}", plan.configurations.size(), rounds, folder));
  auto runs = first_round(plan, launcher, folder, rounds, !arguments.launch.quick);
  Rounds rest(launcher, folder, plan.configurations, plan.most_ranks, say);
  for (int round = 2; round <= rounds; ++round)
    for (auto& run : flatten(rest.run(round, rounds))) runs.push_back(std::move(run));
  return runs;
}

std::vector<MeasuredRun> read_all(const std::vector<std::string>& folders) {
  std::vector<MeasuredRun> runs;
  for (const auto& folder : folders) runs.push_back(measure(folder));
  return runs;
}

void print_prediction(const ScalingArguments& arguments, const std::vector<std::string>& runs,
                      const std::string& folder) {
  const PredictionReport report = predict(runs, arguments.predict, arguments.links);
  fmt::print("\n{}", to_text(report));
  if (!folder.empty()) write_file(folder + "/prediction.json", to_json(report));
}

void run_scaling(const ScalingArguments& arguments, const TrainOptions& options) {
  const auto& out = arguments.launch.out;
  if (!arguments.links.empty() && arguments.predict.empty())
    throw UsageError("--links is the network for --predict: give numbers of ranks");
  if (!arguments.from.empty()) {
    if (!options.words().empty()) throw UsageError("--from reads finished runs: no train options after --");
    const auto report = scale(read_all(arguments.from), parse_regime(arguments.regime));
    fmt::print("{}", to_text(report));
    if (!out.empty()) write_files(report, out);
    if (!arguments.predict.empty()) print_prediction(arguments, arguments.from, out);
    return;
  }
  const std::string folder = make_folder(out, "scaling");
  const auto runs = launch_all(arguments, options, folder);
  std::vector<std::string> folders;
  for (const auto& run : runs) folders.push_back(run.run.directory);
  const auto report = scale(runs, parse_regime(arguments.regime));
  write_files(report, folder);
  fmt::print("{}\nwritten: {}/scaling.json, .csv, .md\n", to_text(report), folder);
  if (!arguments.predict.empty()) print_prediction(arguments, folders, folder);
}

}  // namespace

Subcommand add_scaling(CLI::App& app) {
  auto arguments = std::make_shared<ScalingArguments>();
  auto* command = app.add_subcommand("scaling",
                                     "Scaling efficiency of P ranks against 1, with both baselines.\n"
                                     "  tandem scaling --np 1,2 --regime both -- <train options>\n"
                                     "  tandem scaling --from RUN RUN…");
  command->add_option("--np", arguments->ranks, "numbers of ranks; 1 is always measured")
      ->delimiter(',')
      ->capture_default_str();
  auto* regime = command->add_option("--regime", arguments->regime,
                                     "weak (the same b at every P), strong (the same B) or both");
  regime->capture_default_str();
  command->add_option("--from", arguments->from,
                      "compute from these finished runs (folders), in each regime that they allow");
  command
      ->add_option("--predict", arguments->predict,
                   "numbers of ranks to predict weak scaling for, from what was measured")
      ->delimiter(',');
  command->add_option(
      "--links", arguments->links,
      "the network for --predict: a file of tandem collectives --json, or levels (docs/measuring.md)");
  arguments->launch.add_to(*command);
  return {command, [arguments, regime](const TrainOptions& options) {
            if (!arguments->from.empty() && regime->count() == 0) arguments->regime = "both";
            run_scaling(*arguments, options);
          }};
}

}  // namespace tandem::bench

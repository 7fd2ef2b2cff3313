#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include "bench/commands.h"
#include "bench/compare.h"
#include "bench/fault_lab.h"
#include "bench/launch_arguments.h"
#include "bench/measured_run.h"
#include "bench/rounds.h"
#include "core/base/error.h"
#include "core/comm/binding.h"

namespace tandem::bench {
namespace {

constexpr int kRanks = 2;
constexpr double kGoal = 0.9;

std::vector<int> cores_of(const Scenario& scenario) {
  const auto cores = current_cores();
  return scenario.one_core ? std::vector{cores.front()} : cores;
}

Diagnosed diagnose(const Scenario& scenario, const std::string& folder) {
  Diagnosed run{scenario, {}};
  for (const auto& line : read_compared(folder).summary.findings) {
    const std::string name = name_of_finding(line);
    fmt::print(stderr, "  {}\n", line);
    if (!scenario.tolerated.contains(name)) run.found.push_back(name);
  }
  return run;
}

void run_faults(const std::string& out, const LaunchArguments& launch, const std::string& only,
                const TrainOptions& user) {
  const Launcher launcher = launch.make_launcher();
  const std::string folder = make_folder(out, "faults");
  std::vector<Diagnosed> runs;
  for (int round = 1; round <= launch.rounds(); ++round)
    for (const Scenario& scenario : fault_scenarios()) {
      if (!only.empty() && scenario.name.find(only) == std::string::npos) continue;
      std::string name = fmt::format("round{}-{}", round, scenario.name);
      std::replace(name.begin(), name.end(), ' ', '-');
      const std::string run = (std::filesystem::path(folder) / name).string();
      fmt::print(stderr, "{}\n", scenario.name);
      run_together(
          {launcher.command(kRanks, options_of(scenario, user), run, run + ".txt", cores_of(scenario))});
      runs.push_back(diagnose(scenario, run));
    }
  if (runs.empty()) throw UsageError("--only {}: no scenario has that in its name", only);
  const std::string text = to_text(runs);
  write_file(folder + "/faults.txt", text);
  fmt::print("{}written: {}/faults.txt\n", text, folder);
  const LabScore s = score(runs);
  if (s.precision() < kGoal || s.recall() < kGoal || s.healthy_clean < s.healthy)
    throw Error(
        fmt::format("the doctor is not right often enough: precision and recall are to reach {:.1f}, with no "
                    "finding on healthy controls",
                    kGoal));
}

}  // namespace

Subcommand add_faults(CLI::App& app) {
  auto launch = std::make_shared<LaunchArguments>();
  auto only = std::make_shared<std::string>();
  launch->repeat = 1;
  auto* command =
      app.add_subcommand("faults",
                         "The fault laboratory: runs with known faults, and what the doctor says of each.\n"
                         "  tandem faults [--repeat N] [--only TEXT] -- <train options>");
  launch->add_to(*command);
  command->add_option("--only", *only, "only the scenarios with this text in their name");
  return {command,
          [launch, only](const TrainOptions& options) { run_faults(launch->out, *launch, *only, options); }};
}

}  // namespace tandem::bench

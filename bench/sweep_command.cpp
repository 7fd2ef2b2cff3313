#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "bench/commands.h"
#include "bench/launch_arguments.h"
#include "bench/rounds.h"
#include "bench/sweep_output.h"

namespace tandem::bench {
namespace {

struct SweepArguments {
  std::vector<double> bucket_mb{1, 5, 10, 25};
  std::vector<std::int64_t> batch{8};
  std::string overlap = "on", view = "on";
  int ranks = 2;
  LaunchArguments launch;
};

void say(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

std::vector<bool> parse_switch(const char* option, const std::string& text) {
  if (text == "on") return {true};
  if (text == "off") return {false};
  if (text == "both") return {true, false};
  throw UsageError("{} {}: choose on, off or both", option, text);
}

void check(const SweepArguments& arguments, const TrainOptions& options) {
  if (arguments.ranks < 1 || arguments.ranks > 4096)
    throw UsageError("--np {}: give a number of ranks from 1 to 4096", arguments.ranks);
  for (const double cap : arguments.bucket_mb)
    if (!std::isfinite(cap) || cap <= 0) throw UsageError("--bucket-mb {}: give caps above 0, in MiB", cap);
  for (const auto b : arguments.batch)
    if (b < 1) throw UsageError("--batch {}: give whole numbers of at least 1", b);
  for (const char* option :
       {"--bucket-mb", "--batch", "--global-batch", "--overlap", "--no-overlap", "--gradient-as-bucket-view",
        "--no-gradient-as-bucket-view", "--no-ddp", "--dry-run", "--ranks", "--threads", "--log-dir"})
    if (options.has(option))
      throw UsageError("{} after --: tandem sweep decides that itself, leave it out or give its own option",
                       option);
}

/// All combinations, caps innermost.
std::vector<SweepPoint> make_points(const SweepArguments& arguments) {
  std::vector<SweepPoint> points;
  for (const auto batch : arguments.batch)
    for (const bool overlap : parse_switch("--overlap", arguments.overlap))
      for (const bool view : parse_switch("--view", arguments.view))
        for (const double cap : arguments.bucket_mb) points.push_back({cap, batch, overlap, view, {}});
  return points;
}

Configuration configure(const SweepPoint& point, std::size_t index, int ranks, TrainOptions options) {
  constexpr const char* kSteps = "250";  // a full window
  if (!options.has("--steps") && !options.has("--epochs")) options.set("--steps", kSteps);
  options.set("--bucket-mb", fmt::format("{}", point.bucket_mb));
  options.set("--batch", std::to_string(point.batch));
  options.add_flag(point.overlap ? "--overlap" : "--no-overlap");
  options.add_flag(point.view ? "--gradient-as-bucket-view" : "--no-gradient-as-bucket-view");
  const std::string label = fmt::format("{:g} MB, b {}{}{}", point.bucket_mb, point.batch,
                                        point.overlap ? "" : ", no overlap", point.view ? "" : ", no view");
  return {fmt::format("point{}", index + 1), label, ranks, 1, std::move(options)};
}

void run_sweep(const SweepArguments& arguments, const TrainOptions& options) {
  check(arguments, options);
  auto points = make_points(arguments);
  std::vector<Configuration> configurations;
  for (std::size_t i = 0; i < points.size(); ++i)
    configurations.push_back(configure(points[i], i, arguments.ranks, options));

  const Launcher launcher = arguments.launch.make_launcher();
  const int rounds = arguments.launch.rounds();
  const std::string folder = make_folder(arguments.launch.out, "sweep");
  say(fmt::format("{} configurations, {} rounds, into {}", points.size(), rounds, folder));
  Rounds launches(launcher, folder, configurations, arguments.ranks, say);
  for (int round = 1; round <= rounds; ++round) {
    auto runs = launches.run(round, rounds);
    for (std::size_t i = 0; i < points.size(); ++i) points[i].launches.push_back(std::move(runs[i][0]));
  }
  const auto report = compare_points(std::move(points));
  write_files(report, folder);
  fmt::print("{}\nwritten: {}/sweep.json, .csv, .md\n", to_text(report), folder);
}

}  // namespace

Subcommand add_sweep(CLI::App& app) {
  auto arguments = std::make_shared<SweepArguments>();
  auto* command =
      app.add_subcommand("sweep",
                         "Step time over bucket caps, batch sizes, overlap and views, in all combinations.\n"
                         "  tandem sweep --bucket-mb 1,5,10,25 --batch 8,32 -- <train options>");
  command->add_option("--bucket-mb", arguments->bucket_mb, "caps, MiB")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--batch", arguments->batch, "b: samples per rank and micro-batch")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--overlap", arguments->overlap, "on, off or both")->capture_default_str();
  command->add_option("--view", arguments->view, "gradient as bucket view: on, off or both")
      ->capture_default_str();
  command->add_option("--np", arguments->ranks, "ranks")->capture_default_str();
  arguments->launch.add_to(*command);
  return {command, [arguments](const TrainOptions& options) { run_sweep(*arguments, options); }};
}

}  // namespace tandem::bench

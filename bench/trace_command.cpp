#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

#include "bench/commands.h"
#include "bench/measured_run.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/telemetry/run_events.h"
#include "core/telemetry/trace.h"

namespace tandem::bench {
namespace {

namespace fs = std::filesystem;

struct TraceArguments {
  std::string run, steps, out;
};

Window choose_window(const TraceArguments& arguments, const Run& run) {
  if (arguments.steps.empty()) return trace_window(run);
  const Window window = parse_window(arguments.steps);
  const auto steps = static_cast<std::int64_t>(run.steps[0].size());
  if (window.last >= steps)
    throw UsageError("--steps {}: the run has steps 0 to {}", arguments.steps, steps - 1);
  return window;
}

void run_trace(const TraceArguments& arguments) {
  const fs::path folder = arguments.run;
  const SalvagedRun salvaged = salvage_run(arguments.run);
  const Run& run = salvaged.run;
  for (const auto& problem : salvaged.problems) fmt::print(stderr, "tandem: {}\n", problem);
  if (run.steps.empty() || run.steps[0].empty()) throw DataError("{} has no step to show", arguments.run);
  const ClockAlignment clocks(load_clocks(folder / "clocks.json"));
  const Window window = choose_window(arguments, run);
  const std::string out = arguments.out.empty() ? (folder / "trace.json").string() : arguments.out;
  const std::string text = trace_json(run, read_events(folder), clocks, window);
  write_file(out, text);
  fmt::print("{}: steps {} to {} of {} rank{}, {}. Open it at ui.perfetto.dev or chrome://tracing\n", out,
             window.first, window.last, run.steps.size(), run.steps.size() == 1 ? "" : "s",
             human_bytes(static_cast<double>(text.size())));
  if (const auto error = clocks.error_us())
    fmt::print("ranks are aligned to within {:.1f} us (ping-pong at the run's start and end)\n", *error);
  else if (run.steps.size() > 1)
    fmt::print(
        "ranks are NOT aligned: there is no clocks.json, each rank's time begins with its first step\n");
  const auto& steps = run.steps[0];
  if (std::all_of(steps.begin(), steps.end(), [](const StepRecord& step) { return step.phases.empty(); }))
    fmt::print("no phases in these logs (--probe off, or an earlier version): steps and collectives only\n");
}

}  // namespace

Subcommand add_trace(CLI::App& app) {
  auto arguments = std::make_shared<TraceArguments>();
  auto* command =
      app.add_subcommand("trace",
                         "Writes a run's trace.json, for Perfetto: its ranks, threads and buckets in time.\n"
                         "  tandem trace RUN [--steps FIRST:LAST]");
  command->add_option("run", arguments->run, "folder of the run")->required();
  command->add_option("--steps", arguments->steps,
                      "FIRST:LAST (default: 20 from the start of the stable window)");
  command->add_option("--out", arguments->out, "file to write (default: trace.json in the run's folder)");
  return {command, [arguments](const TrainOptions& options) {
            if (!options.words().empty()) throw UsageError("trace reads a finished run: no options after --");
            run_trace(*arguments);
          }};
}

}  // namespace tandem::bench

#include "bench/launch_arguments.h"

#include <CLI/CLI.hpp>

namespace tandem::bench {
namespace {

constexpr int kQuickRounds = 2;

}  // namespace

void LaunchArguments::add_to(CLI::App& app) {
  auto* repeats = app.add_option("--repeat", repeat, "rounds: launches of each configuration, interleaved");
  repeats->capture_default_str();
  app.add_flag("--quick", quick, "2 rounds: wide intervals, for a first look")->excludes(repeats);
  app.add_option("--out", out, "new folder for runs, table and files (default: runs/<subcommand>-<time>)");
  app.add_option(
      "--launcher", launcher,
      "words in place of mpirun, to start ranks on other hosts; {np} in them becomes the number of "
      "ranks, without it \"-np N\" is appended");
  app.add_option("--train", train, "the program to launch (default: train beside this one)");
}

int LaunchArguments::rounds() const {
  if (repeat < 1 || repeat > 1000) throw UsageError("--repeat {}: give a number from 1 to 1000", repeat);
  return quick ? kQuickRounds : repeat;
}

}  // namespace tandem::bench

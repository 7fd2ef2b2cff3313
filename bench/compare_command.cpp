#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>

#include "bench/commands.h"
#include "bench/compare.h"
#include "core/base/error.h"

namespace tandem::bench {
namespace {

/// The run, or nothing where there is none: then the reason has been said.
std::optional<ComparedRun> read_or_say(const std::string& directory) {
  try {
    return read_compared(directory);
  } catch (const DataError& error) {
    fmt::print(stderr, "tandem: {}\n", error.what());
    return std::nullopt;
  }
}

void run_compare(const std::vector<std::string>& folders) {
  const auto a = read_or_say(folders.at(0)), b = read_or_say(folders.at(1));
  if (a && b) {
    fmt::print("{}", to_text(compare_runs(*a, *b), *a, *b));
    return;
  }
  if (!a && !b) throw DataError("neither run can be read");
  fmt::print("{}", describe(a ? *a : *b));
  throw DataError("{} cannot be read: there is nothing to compare with", a ? folders[1] : folders[0]);
}

}  // namespace

Subcommand add_compare(CLI::App& app) {
  auto folders = std::make_shared<std::vector<std::string>>();
  auto* command =
      app.add_subcommand("compare",
                         "What changed between two runs, the most suspicious first, and what it did.\n"
                         "  tandem compare RUN RUN");
  command->add_option("runs", *folders, "folders of two runs: before, after")->required()->expected(2);
  return {command, [folders](const TrainOptions& options) {
            if (!options.words().empty())
              throw UsageError("compare reads finished runs: no options after --");
            run_compare(*folders);
          }};
}

}  // namespace tandem::bench

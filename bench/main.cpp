#include <algorithm>
#include <cstdio>

#include <CLI/CLI.hpp>

#include "bench/commands.h"
#include "core/base/error.h"
#include "core/comm/world.h"

namespace tandem::bench {
namespace {

/// Words before "--" are ours, words after it are train's.
int run(std::vector<std::string> words) {
  const auto separator = std::find(words.begin(), words.end(), "--");
  const TrainOptions train_options(separator == words.end()
                                       ? std::vector<std::string>{}
                                       : std::vector<std::string>(separator + 1, words.end()));
  words.erase(separator, words.end());
  std::reverse(words.begin(), words.end());  // as CLI11 wants them

  CLI::App app("Experiments with train: tandem <subcommand> --help", "tandem");
  app.require_subcommand(1);
  const Subcommand subcommands[] = {add_scaling(app), add_sweep(app),  add_collectives(app), add_compare(app),
                                    add_trace(app),   add_report(app), add_faults(app)};
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    throw UsageError("{} (see tandem --help)", error.what());
  }
  for (const auto& subcommand : subcommands)
    if (subcommand.app->parsed()) subcommand.action(train_options);
  return 0;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  try {
    return tandem::bench::run({argv + 1, argv + argc});
  } catch (const tandem::AgreedError& error) {  // thrown by all ranks: one speaks for all
    if (error.speaker()) fmt::print(stderr, "tandem: {}\n", error.what());
    return error.exit_code();
  } catch (const tandem::Error& error) {
    fmt::print(stderr, "tandem: {}\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    fmt::print(stderr, "tandem: {}\n", error.what());
    return 1;
  }
}

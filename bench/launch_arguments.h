#pragma once

#include <string>

#include "bench/launch.h"

namespace CLI {
class App;
}

namespace tandem::bench {

/// The options that every subcommand that launches runs has.
struct LaunchArguments {
  int repeat = 5;
  bool quick = false;
  std::string out, launcher, train;

  void add_to(CLI::App& app);
  /// Rounds to run. Throws UsageError.
  int rounds() const;
  Launcher make_launcher() const { return {find_train(train), launcher}; }
};

}  // namespace tandem::bench

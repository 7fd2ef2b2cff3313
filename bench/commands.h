#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/train_options.h"

namespace CLI {
class App;
}

namespace tandem::bench {

/// A subcommand: it adds itself with its options to `app`; what it returns runs it, given the options after
/// "--", once the command line has been parsed and chose it.
using Action = std::function<void(const TrainOptions&)>;

struct Subcommand {
  CLI::App* app = nullptr;
  Action action;
};

Subcommand add_collectives(CLI::App& app);
Subcommand add_scaling(CLI::App& app);
Subcommand add_sweep(CLI::App& app);
Subcommand add_compare(CLI::App& app);
Subcommand add_trace(CLI::App& app);
Subcommand add_report(CLI::App& app);
Subcommand add_faults(CLI::App& app);

}  // namespace tandem::bench

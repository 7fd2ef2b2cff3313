#pragma once

#include <filesystem>

namespace tandem::train {

/// The folder that holds `examples/data/` and, by default, `runs/`: the parent of the program's build folder
/// where that is a checkout, else the checkout that it was built from, else the current folder. So default
/// paths work from any directory.
std::filesystem::path project_root();

/// The pinned text that gpt models train on when no data is named.
std::filesystem::path default_text();

}  // namespace tandem::train

#pragma once

#include <filesystem>
#include <string>

namespace tandem::train {

/// Where the algorithms that were chosen for a GPU's products are kept from run to run: --algorithm-cache, or
/// a file for this kind of GPU in the user's cache folder. An empty path (`off`, or no such folder) keeps
/// nothing.
std::filesystem::path algorithm_file(const std::string& option, const std::string& gpu);

/// Its text; empty where there is none.
std::string read_algorithms(const std::filesystem::path& file);

/// Replaces it as a whole, so that a run that starts at that moment reads the old or the new one. A cache
/// that cannot be written is no failure.
void write_algorithms(const std::filesystem::path& file, const std::string& text);

}  // namespace tandem::train

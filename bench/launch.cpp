#include "bench/launch.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <unistd.h>

#include "core/comm/binding.h"
#include "core/comm/launch.h"

namespace tandem::bench {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> prefix_words(const std::string& prefix, int ranks) {
  const std::string placeholder = "{np}", number = std::to_string(ranks);
  std::vector<std::string> words;
  bool placed = false;
  std::istringstream stream(prefix);
  for (std::string word; stream >> word; words.push_back(word))
    for (auto at = word.find(placeholder); at != std::string::npos; at = word.find(placeholder)) {
      word.replace(at, placeholder.size(), number);
      placed = true;
    }
  if (!placed) words.insert(words.end(), {"-np", number});
  return words;
}

}  // namespace

Command Launcher::command(int ranks, const TrainOptions& options, const std::string& log_dir,
                          const std::string& output, const std::vector<int>& cores) const {
  TrainOptions with_log = options;
  with_log.set("--log-dir", log_dir);
  if (local()) return {mpirun_command(ranks, train, with_log.words()), output, cores};
  auto words = prefix_words(prefix, ranks);
  words.push_back(train);
  words.insert(words.end(), with_log.words().begin(), with_log.words().end());
  return {words, output, {}};
}

std::string find_train(const std::string& given) {
  const fs::path path =
      given.empty() ? fs::read_symlink("/proc/self/exe").parent_path() / "train" : fs::absolute(given);
  if (access(path.c_str(), X_OK) != 0 || fs::is_directory(path))
    throw UsageError("{} is no program: build train, or say with --train where it is", path.string());
  return path.string();
}

std::vector<int> cores_of_share(int index, int most_ranks) {
  const auto cores = current_cores();
  const int share = std::max(1, static_cast<int>(cores.size()) / most_ranks);
  std::vector<int> mine;
  for (int i = 0; i < share; ++i)
    mine.push_back(cores[static_cast<std::size_t>(index * share + i) % cores.size()]);
  return mine;
}

std::vector<int> cores_for(int ranks, int most_ranks) {
  std::vector<int> cores;
  for (int index = 0; index < ranks; ++index)
    for (const int core : cores_of_share(index, most_ranks)) cores.push_back(core);
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

}  // namespace tandem::bench

#include "examples/train/algorithm_file.h"

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/base/error.h"
#include "core/telemetry/run_folder.h"

namespace tandem::train {

namespace fs = std::filesystem;

namespace {

fs::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return fs::path(cache) / "tandem";
  if (const char* home = std::getenv("HOME"); home && *home) return fs::path(home) / ".cache" / "tandem";
  return {};
}

}  // namespace

fs::path algorithm_file(const std::string& option, const std::string& gpu) {
  if (option == "off") return {};
  if (option != "auto") return option;
  const fs::path folder = cache_folder();
  if (folder.empty()) return {};
  std::string name = "algorithms-";
  for (const char c : gpu) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return folder / (name + ".jsonl");
}

std::string read_algorithms(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_algorithms(const fs::path& file, const std::string& text) {
  if (file.empty()) return;
  std::error_code ignored;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), ignored);
  try {
    write_text_file(file, text);
  } catch (const DeviceError&) {  // the next run will time them anew
  }
}

}  // namespace tandem::train

#include "examples/train/paths.h"

#include <system_error>

namespace tandem::train {

namespace fs = std::filesystem;

namespace {

constexpr const char* kText = "examples/data/tandem.txt";

}  // namespace

fs::path project_root() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  for (const fs::path& root : {program.parent_path().parent_path(), fs::path(TANDEM_SOURCE_DIR)})
    if (fs::exists(root / kText, ignored)) return root;
  return fs::current_path();
}

fs::path default_text() {
  std::error_code ignored;
  const fs::path full = project_root() / kText, near = fs::relative(full, ignored);
  return !near.empty() && near.string().size() < full.string().size() ? near : full;
}

}  // namespace tandem::train

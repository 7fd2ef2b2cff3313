#include "core/telemetry/run_folder.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <unistd.h>

#include <fmt/chrono.h>

#include "core/base/error.h"

namespace tandem {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void cannot_write(const fs::path& folder, const std::string& why) {
  throw UsageError("the log folder {} cannot be written: {}; choose another with --log-dir", folder.string(),
                   why);
}

void create_with_parents(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) cannot_write(folder, error.message());
}

/// parent/name, or parent/name-2, …: the first that does not exist yet.
fs::path create_new(const fs::path& parent, const std::string& name) {
  create_with_parents(parent);
  for (int number = 1;; ++number) {
    const fs::path folder = parent / (number == 1 ? name : fmt::format("{}-{}", name, number));
    std::error_code error;
    if (fs::create_directory(folder, error)) return folder;
    if (error) cannot_write(folder, error.message());
  }
}

}  // namespace

std::string run_name(std::string_view model, int ranks, std::time_t now) {
  return fmt::format("{:%Y%m%d-%H%M%S}-{}-{}", fmt::localtime(now), model, ranks);
}

fs::path make_run_folder(const fs::path& log_dir, const fs::path& runs, const std::string& name) {
  fs::path folder = log_dir;
  if (log_dir.empty()) {
    folder = create_new(runs, name);
  } else {
    create_with_parents(log_dir);
    std::error_code error;
    const bool empty = fs::is_empty(log_dir, error);
    if (error) cannot_write(log_dir, error.message());
    if (!empty) folder = create_new(log_dir, name);
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) cannot_write(folder, std::strerror(errno));
  return folder;
}

void write_text_file(const fs::path& path, std::string_view text) {
  const fs::path draft = path.string() + ".tmp";
  std::ofstream file(draft, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (file) fs::rename(draft, path, error);
  if (!file || error)
    throw DeviceError("writing {} failed: {}", path.string(), error ? error.message() : "is the disk full?");
}

}  // namespace tandem

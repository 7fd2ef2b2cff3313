#include <cstdio>
#include <filesystem>
#include <memory>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "bench/commands.h"
#include "bench/measured_run.h"
#include "bench/process.h"
#include "bench/report_data.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem::bench {
namespace {

namespace fs = std::filesystem;

/// The Python package that draws the page: beside the build folder, or where this was built from.
fs::path find_package() {
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "bench/report";
  for (const fs::path& path : {beside, fs::path(TANDEM_SOURCE_DIR) / "bench/report"})
    if (fs::exists(path / "__main__.py")) return path;
  throw DataError("{} is missing: tandem report draws its page with it", beside.string());
}

/// A file that is gone with the object.
struct TemporaryFile {
  fs::path path;
  explicit TemporaryFile(const std::string& name)
      : path(fs::temp_directory_path() / fmt::format("tandem-{}-{}", getpid(), name)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

void run_report(const std::vector<std::string>& sources, const std::string& out) {
  const fs::path package = find_package();
  const TemporaryFile data("report.json"), output("report.txt");
  write_file(data.path.string(), report_data(sources));
  run_together({{{"python3", "-B", package.string(), data.path.string(), out}, output.path.string(), {}}});
  fmt::print("{}: {}, open it in any browser\n", out, human_bytes(static_cast<double>(fs::file_size(out))));
}

}  // namespace

Subcommand add_report(CLI::App& app) {
  auto sources = std::make_shared<std::vector<std::string>>();
  auto out = std::make_shared<std::string>("report.html");
  auto* command = app.add_subcommand(
      "report",
      "One self-contained page of runs and experiments: efficiency, where the time went, timelines.\n"
      "  tandem report RUN_OR_SERIES… [--out FILE]");
  command
      ->add_option("sources", *sources,
                   "folders of runs, of scaling or sweep experiments; JSON files of tandem collectives")
      ->required();
  command->add_option("--out", *out, "file to write")->capture_default_str();
  return {command, [sources, out](const TrainOptions& options) {
            if (!options.words().empty()) throw UsageError("report reads finished runs: no options after --");
            run_report(*sources, *out);
          }};
}

}  // namespace tandem::bench

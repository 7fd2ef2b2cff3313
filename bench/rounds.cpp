#include "bench/rounds.h"

#include <chrono>
#include <ctime>
#include <filesystem>

#include <fmt/chrono.h>

#include "core/base/text.h"

namespace tandem::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

}  // namespace

Rounds::Rounds(Launcher launcher, std::string folder, std::vector<Configuration> configurations,
               int most_ranks, std::function<void(const std::string&)> progress)
    : launcher_(std::move(launcher)),
      folder_(std::move(folder)),
      configurations_(std::move(configurations)),
      most_ranks_(most_ranks),
      progress_(std::move(progress)) {}

std::vector<std::vector<MeasuredRun>> Rounds::run(int round, int rounds) {
  const std::size_t count = configurations_.size();
  std::vector<std::vector<MeasuredRun>> result(count);
  const auto start = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t c = round % 2 == 1 ? i : count - 1 - i;
    const auto begin = Clock::now();
    result[c] = launch(configurations_[c], round);
    const Summary& summary = result[c][0].summary;
    const double took = std::chrono::duration<double>(Clock::now() - begin).count();
    const double each =
        std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(i + 1);
    const double left =
        each * static_cast<double>(count - 1 - i + count * static_cast<std::size_t>(rounds - round));
    progress_(fmt::format("round {}/{}, {}/{}  {}: {:.2f} ms a step, {:.1f} samples/s{}  ({}, {} to go)",
                          round, rounds, i + 1, count, configurations_[c].label, summary.step_ms,
                          summary.samples_per_s, summary.steady ? "" : ", not steady", human_duration(took),
                          human_duration(left)));
  }
  return result;
}

std::vector<MeasuredRun> Rounds::launch(const Configuration& configuration, int round) const {
  fs::create_directories(fs::path(folder_) / "runs");
  std::vector<std::string> folders;
  std::vector<Command> commands;
  for (int copy = 0; copy < configuration.copies; ++copy) {
    std::string name = fmt::format("round{}.{}", round, configuration.name);
    if (configuration.copies > 1) name += fmt::format(".{}", copy);
    folders.push_back((fs::path(folder_) / "runs" / name).string());
    commands.push_back(launcher_.command(configuration.ranks, configuration.options, folders.back(),
                                         (fs::path(folder_) / fmt::format("{}.txt", name)).string(),
                                         configuration.copies > 1
                                             ? cores_of_share(copy, most_ranks_)
                                             : cores_for(configuration.ranks, most_ranks_)));
  }
  run_together(commands);
  std::vector<MeasuredRun> runs;
  for (const auto& folder : folders) {
    write_origin(folder, {round, configuration.copies});
    runs.push_back(measure(folder));
  }
  return runs;
}

std::string make_folder(const std::string& given, const std::string& kind) {
  const std::string name =
      given.empty() ? fmt::format("runs/{}-{:%Y%m%d-%H%M%S}", kind, fmt::localtime(std::time(nullptr)))
                    : given;
  std::error_code error;
  if (fs::exists(name, error) && (!fs::is_directory(name, error) || !fs::is_empty(name, error)))
    throw UsageError(
        "--out {} exists and is not empty: choose another folder (--from {}/runs/* reads its runs)", name,
        name);
  fs::create_directories(name, error);
  if (error) throw UsageError("--out {} cannot be made: {}", name, error.message());
  return fs::absolute(name).lexically_normal().string();
}

}  // namespace tandem::bench

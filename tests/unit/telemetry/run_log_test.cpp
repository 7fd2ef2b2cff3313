#include "core/telemetry/run_log.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "tests/unit/dataloader/expect_message.h"
#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

std::vector<Json> lines_of(const std::string& path) {
  std::vector<Json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

StepRecord record(std::int64_t step, std::size_t buckets = 5) {
  StepRecord r;
  r.step = step;
  r.buckets.resize(buckets);
  return r;
}

TEST(RunLog, WritesALinePerStepAndPerEvent) {
  const TempFolder folder;
  {
    RunLog log(folder.path("a/new/folder"), 0);
    for (int k = 0; k < 5; ++k) log.append(record(k));
    log.append(EventRecord{.step = 2, .kind = "evaluation", .text = "loss 1"});
  }
  const auto steps = lines_of(folder.path("a/new/folder/steps.rank0.jsonl"));
  ASSERT_EQ(steps.size(), 5u);
  for (int k = 0; k < 5; ++k) EXPECT_EQ(steps[static_cast<std::size_t>(k)].at("step"), k);
  const auto events = lines_of(folder.path("a/new/folder/events.jsonl"));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at("event"), "evaluation");
}

TEST(RunLog, OtherRanksWriteNoEvents) {
  const TempFolder folder;
  {
    RunLog log(folder.path(), 3);
    log.append(record(0));
    log.append(EventRecord{.kind = "evaluation"});
  }
  EXPECT_EQ(lines_of(folder.path("steps.rank3.jsonl")).size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(folder.path("events.jsonl")));
}

TEST(RunLog, WritesWithinASecondByItself) {
  const TempFolder folder;
  RunLog log(folder.path(), 0);
  log.append(record(0));
  const auto deadline = std::chrono::steady_clock::now() + 1500ms;
  while (lines_of(folder.path("steps.rank0.jsonl")).empty() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(20ms);
  EXPECT_EQ(lines_of(folder.path("steps.rank0.jsonl")).size(), 1u);
}

TEST(RunLog, LinesAreWholeWhoeverFlushes) {
  const TempFolder folder;
  constexpr int kSteps = 3000;
  RunLog log(folder.path(), 0);
  std::atomic<bool> stop{false};
  std::thread other([&] {  // the thread that waits for signals
    while (!stop) log.flush();
  });
  for (int k = 0; k < kSteps; ++k) log.append(record(k, 20));
  stop = true;
  other.join();
  log.flush();
  const auto steps = lines_of(folder.path("steps.rank0.jsonl"));
  ASSERT_EQ(steps.size(), static_cast<std::size_t>(kSteps));
  for (int k = 0; k < kSteps; ++k) ASSERT_EQ(steps[static_cast<std::size_t>(k)].at("step"), k);
}

TEST(RunLog, SaysWhatItCannotWrite) {
  const TempFolder folder;
  const std::string file = folder.write("file", "x");
  expect_message<UsageError>([&] { RunLog(file, 0); }, {file});
  expect_message<UsageError>([&] { RunLog(file + "/below", 0); }, {file});
}

TEST(RunLog, ReportsAFullDiskAtTheNextStep) {
  const TempFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.path("steps.rank1.jsonl"));
  RunLog log(folder.path(), 1);
  log.append(record(0));
  try {
    log.flush();
    FAIL() << "wrote to a full device";
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos) << error.what();
  }
  log.append(record(1));
  std::this_thread::sleep_for(1200ms);  // the log's own thread tries and fails
  EXPECT_THROW(log.append(record(2)), DeviceError);
}

}  // namespace
}  // namespace tandem

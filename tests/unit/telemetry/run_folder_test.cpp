#include "core/telemetry/run_folder.h"

#include <fstream>
#include <iterator>
#include <regex>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/unit/dataloader/expect_message.h"
#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

TEST(RunFolder, IsNamedAfterTimeModelAndRanks) {
  EXPECT_TRUE(
      std::regex_match(run_name("gpt-nano", 2, 1'700'000'000), std::regex(R"(202311\d\d-\d{6}-gpt-nano-2)")));
}

TEST(RunFolder, LiesUnderRunsAndIsAlwaysNew) {
  const TempFolder temp;
  const fs::path runs = temp.path("not/there/yet");
  EXPECT_EQ(make_run_folder("", runs, "name"), runs / "name");
  EXPECT_EQ(make_run_folder("", runs, "name"), runs / "name-2");
  EXPECT_EQ(make_run_folder("", runs, "name"), runs / "name-3");
  EXPECT_TRUE(fs::is_directory(runs / "name-3"));
}

TEST(RunFolder, IsTheLogDirUnlessThatHoldsSomething) {
  const TempFolder temp;
  const fs::path log_dir = temp.path("a/b");
  EXPECT_EQ(make_run_folder(log_dir, "unused", "name"), log_dir);
  EXPECT_EQ(make_run_folder(log_dir, "unused", "name"), log_dir) << "still empty";
  std::ofstream(log_dir / "file") << "x";
  EXPECT_EQ(make_run_folder(log_dir, "unused", "name"), log_dir / "name");
  EXPECT_EQ(make_run_folder(log_dir, "unused", "name"), log_dir / "name-2");
  EXPECT_FALSE(fs::exists("unused"));
}

TEST(RunFolder, RefusesWhatCannotBeWritten) {
  const TempFolder temp;
  const std::string file = temp.write("file", "x");
  expect_message<UsageError>([&] { make_run_folder(file, "", "name"); }, {file, "--log-dir"});
  expect_message<UsageError>([&] { make_run_folder(file + "/below", "", "name"); }, {file, "--log-dir"});
  expect_message<UsageError>([&] { make_run_folder("", file, "name"); }, {file, "--log-dir"});
  expect_message<UsageError>([&] { make_run_folder("/proc/tandem", "", "name"); },
                             {"/proc/tandem", "--log-dir"});
}

TEST(WriteTextFile, ReplacesTheWholeFile) {
  const TempFolder temp;
  const fs::path path = temp.write("file", "something longer");
  write_text_file(path, "short");
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "short");
  EXPECT_EQ(std::distance(fs::directory_iterator(temp.path()), {}), 1) << "no draft is left";
  EXPECT_THROW(write_text_file(temp.path("missing/file"), "x"), DeviceError);
}

}  // namespace
}  // namespace tandem

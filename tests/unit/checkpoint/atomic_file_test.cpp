#include "core/checkpoint/atomic_file.h"

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::ptrdiff_t files_in(const TempFolder& folder) {
  return std::distance(std::filesystem::directory_iterator(folder.path()), {});
}

TEST(AtomicFile, AppearsWhenItIsCommitted) {
  const TempFolder folder;
  const std::string path = folder.write("file", "old");
  AtomicFile file(path);
  file.write("ne", 2);
  file.write("w", 1);
  EXPECT_EQ(content(path), "old");
  file.commit();
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicFile, LeavesNothingBehindWithoutCommit) {
  const TempFolder folder;
  const std::string path = folder.write("file", "old");
  { AtomicFile(path).write("new", 3); }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files_in(folder), 1);
}

TEST(AtomicFile, SaysWhyItCannotBeWritten) {
  const TempFolder folder;
  try {
    AtomicFile(folder.path("missing/file"));
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_EQ(std::string(error.what()),
              "writing " + folder.path("missing/file") + " failed: No such file or directory");
  }
  std::filesystem::create_directories(folder.path("file/below"));
  AtomicFile file(folder.path("file"));
  EXPECT_THROW(file.commit(), DeviceError);  // a folder is in its place
  EXPECT_EQ(files_in(folder), 1);
  EXPECT_THROW(file.write("x", 1), ContractError);
}

TEST(AtomicFile, AFullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  // Writing goes through a link beside the file; the system then says that the disk is full.
  const TempFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.path("file.tmp-" + std::to_string(getpid())));
  AtomicFile file(folder.path("file"));
  try {
    file.write("x", 1);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_NE(std::string(error.what()).find("No space left on device"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tandem

#include "core/checkpoint/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include "core/base/error.h"

namespace tandem {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostAtOnce = 1 << 30;  // the system writes less than 2 GiB in one call

/// The new name, too, should outlive a crash. Not every file system lets a folder be synchronised; those that
/// do not have nothing to lose.
void synchronize_folder(const fs::path& folder) {
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

AtomicFile::AtomicFile(fs::path path)
    : path_(std::move(path)), draft_(fmt::format("{}.tmp-{}", path_.string(), getpid())) {
  file_ = open(draft_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail(errno);
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  close(file_);
  unlink(draft_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  require(file_ >= 0, "{} was written to after it had been committed", path_.string());
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file_, next, std::min(bytes, kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  require(file_ >= 0, "{} was committed twice", path_.string());
  if (fsync(file_) != 0) fail(errno);
  const int file = std::exchange(file_, -1);
  const bool done = close(file) == 0 && rename(draft_.c_str(), path_.c_str()) == 0;
  const int error = errno;
  if (!done) {
    unlink(draft_.c_str());
    fail(error);
  }
  synchronize_folder(path_.parent_path());
}

void AtomicFile::fail(int error) const {
  throw DeviceError("writing {} failed: {}", path_.string(), std::strerror(error));
}

}  // namespace tandem

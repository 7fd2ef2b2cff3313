#include "core/telemetry/line_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "core/base/error.h"

namespace tandem {

namespace {
constexpr std::size_t kBuffer = 512 * 1024;  // bytes: seconds of a run with short steps and many buckets
}

LineFile::LineFile(const std::filesystem::path& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_ < 0) throw UsageError("{} cannot be written: {}", path.string(), std::strerror(errno));
  front_.reserve(kBuffer);
  back_.reserve(kBuffer);
}

LineFile::~LineFile() {
  ::close(file_);
}

std::size_t LineFile::append(std::string_view line) {
  std::lock_guard lock(front_mutex_);
  front_ += line;
  return front_.size();
}

std::size_t LineFile::flush() {
  std::lock_guard file_lock(file_mutex_);
  {
    std::lock_guard lock(front_mutex_);
    front_.swap(back_);
  }
  const std::size_t bytes = back_.size();
  write_all(back_);
  back_.clear();
  return bytes;
}

void LineFile::write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      back_.clear();  // part of it is written: a second attempt would write that part twice
      throw DeviceError("writing {} failed: {}", path_.string(), std::strerror(error));
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace tandem

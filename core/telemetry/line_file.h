#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

namespace tandem {

/// A file that grows by whole lines. append() only copies into memory; flush() writes, on whatever thread
/// calls it, while appending goes on. Two buffers take turns and keep their memory.
class LineFile {
 public:
  /// Creates the file, or empties it. Throws UsageError if it cannot be written.
  explicit LineFile(const std::filesystem::path& path);
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  /// Closes; what was not flushed is lost.
  ~LineFile();

  /// `line` ends with a newline. Returns how many bytes now wait for flush().
  std::size_t append(std::string_view line);
  /// Writes all lines appended so far and returns how many bytes that were. Throws DeviceError.
  std::size_t flush();

 private:
  void write_all(std::string_view text);

  const std::filesystem::path path_;
  int file_;
  std::mutex file_mutex_;  // one writer at a time, so that lines stay in order; taken before front_mutex_
  std::mutex front_mutex_;
  std::string front_, back_;
};

}  // namespace tandem

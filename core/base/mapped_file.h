#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tandem {

/// Throws DataError unless `path` names a regular file (a link to one will do): a missing file, a folder, or
/// a pipe that would block for ever.
void check_regular_file(const std::string& path);

/// The bytes of a file that is read where it lies: the kernel pages in what is touched, so a file of any size
/// costs no memory. The file must not shrink while it is mapped.
class MappedFile {
 public:
  /// Throws DataError if the file is missing, not a regular file, or cannot be read. An empty file has no
  /// bytes.
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::uint8_t> bytes() const { return bytes_; }

  /// Reads will jump about: do not read ahead.
  void expect_random_access() const;
  /// Pages that were touched count as this process's memory until they are given back. They stay in the
  /// kernel's cache, and other threads may go on reading.
  void release_pages() const;

 private:
  std::string path_;
  std::span<const std::uint8_t> bytes_;
};

}  // namespace tandem

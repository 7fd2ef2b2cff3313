#pragma once

#include <cstddef>
#include <filesystem>

namespace tandem {

/// A file that appears as a whole or not at all. It is written under another name in the same folder;
/// commit() brings it to the disk and gives it its own, in place of a file that was there before. A reader,
/// or a run that is killed, never leaves or sees half of it.
class AtomicFile {
 public:
  /// Throws DeviceError if the folder cannot be written.
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  /// Without commit() nothing is left behind.
  ~AtomicFile();

  /// Appends. Throws DeviceError, with the system's reason (a full disk).
  void write(const void* data, std::size_t bytes);
  /// Throws DeviceError. Nothing may be written after it.
  void commit();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_, draft_;
  int file_ = -1;
};

}  // namespace tandem

#include "core/base/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "core/base/error.h"

namespace tandem {

namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

void check_regular_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0)
    throw DataError("{}: {}: name an existing file", path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) throw DataError("{}: is a folder: name a file", path);
  if (!S_ISREG(status.st_mode)) throw DataError("{}: is not a regular file: name one", path);
}

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  check_regular_file(path_);
  const Descriptor file{open(path_.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status {};
  if (file.fd < 0 || fstat(file.fd, &status) != 0)
    throw DataError("{}: cannot be opened: {}", path_, std::strerror(errno));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
  if (memory == MAP_FAILED) throw DataError("{}: cannot be mapped: {}", path_, std::strerror(errno));
  bytes_ = {static_cast<const std::uint8_t*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

void MappedFile::expect_random_access() const {
  if (!bytes_.empty()) madvise(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size(), MADV_RANDOM);
}

void MappedFile::release_pages() const {
  if (!bytes_.empty()) madvise(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

}  // namespace tandem

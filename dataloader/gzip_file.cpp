#include "dataloader/gzip_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <zlib.h>

#include "core/base/error.h"
#include "core/base/mapped_file.h"

namespace tandem {

namespace {

constexpr std::size_t kChunk = 1 << 20;

struct CloseGzip {
  void operator()(gzFile_s* file) const { gzclose_r(file); }
};

void check_read(gzFile file, const std::string& path) {
  int code = Z_OK;
  gzerror(file, &code);
  if (code == Z_BUF_ERROR) throw DataError("{}: the gzip data ends too early: copy or make it again", path);
  if (code == Z_ERRNO) throw DataError("{}: cannot be read: {}", path, std::strerror(errno));
  if (code != Z_OK && code != Z_STREAM_END)
    throw DataError("{}: the gzip data is corrupt: copy or make it again", path);
}

}  // namespace

std::vector<std::uint8_t> read_maybe_gzip(const std::string& path) {
  check_regular_file(path);
  const std::unique_ptr<gzFile_s, CloseGzip> file(gzopen(path.c_str(), "rb"));
  if (!file) throw DataError("{}: cannot be opened: {}", path, std::strerror(errno));
  gzbuffer(file.get(), kChunk);
  std::vector<std::uint8_t> bytes;
  std::size_t size = 0;
  for (int got = 1; got > 0; size += static_cast<std::size_t>(got)) {
    if (size == bytes.size()) bytes.resize(2 * size + kChunk);
    got =
        gzread(file.get(), bytes.data() + size, static_cast<unsigned>(std::min(bytes.size() - size, kChunk)));
    check_read(file.get(), path);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace tandem

#include "dataloader/token_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <glob.h>
#include <memory>
#include <utility>

#include "core/base/error.h"

namespace tandem {

namespace fs = std::filesystem;

namespace {

constexpr std::int32_t kMagic = 20240520, kVersion = 1;
constexpr std::int64_t kHeaderBytes = 256 * sizeof(std::int32_t);

std::vector<std::string> matches(const std::string& pattern) {
  std::error_code ignored;
  if (fs::exists(pattern, ignored)) return {pattern};  // also a name with [ or * in it
  glob_t found{};
  const int failed = glob(pattern.c_str(), GLOB_TILDE, nullptr, &found);
  const std::unique_ptr<glob_t, decltype(&globfree)> owner(&found, &globfree);
  if (failed) throw DataError("{}: no file matches: name existing files", pattern);
  return {found.gl_pathv, found.gl_pathv + found.gl_pathc};
}

std::shared_ptr<const MappedFile> open_filled(const std::string& path) {
  auto file = std::make_shared<const MappedFile>(path);
  if (file->bytes().empty()) throw DataError("{}: is empty: give a file with data", path);
  return file;
}

std::int64_t size_of_file(const MappedFile& file) {
  return static_cast<std::int64_t>(file.bytes().size());
}

// The header's int32 at `index`; 0 beyond the end of the file.
std::int32_t header_field(const MappedFile& file, std::size_t index) {
  std::int32_t value = 0;
  if ((index + 1) * sizeof value <= file.bytes().size())
    std::memcpy(&value, file.bytes().data() + index * sizeof value, sizeof value);
  return value;
}

TokenStream open_shard(const std::string& path) {
  auto file = open_filled(path);
  if (header_field(*file, 0) != kMagic)
    throw DataError(
        "{}: does not start as an llm.c token file (magic {}, not {}): raw uint16 tokens are "
        "tokens-raw:PATH, text is text:PATH",
        path, kMagic, header_field(*file, 0));
  if (header_field(*file, 1) != kVersion)
    throw DataError("{}: is an llm.c token file of version {}: only version {} (uint16 tokens) is read", path,
                    header_field(*file, 1), kVersion);
  const std::int64_t count = header_field(*file, 2), size = size_of_file(*file);
  const std::int64_t expected = kHeaderBytes + 2 * count;
  if (count < 0 || size != expected)
    throw DataError(
        "{}: the header counts {} tokens, which takes {} bytes, but the file has {}: it is {}; "
        "make or copy it again",
        path, count, expected, size, size < expected ? "truncated" : "damaged");
  TokenStream tokens(TokenWidth::half);
  tokens.append(std::move(file), kHeaderBytes, count);
  return tokens;
}

std::vector<std::string> regular_files(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (fs::is_regular_file(entry->symlink_status(error))) paths.push_back(entry->path().string());
  if (error) throw DataError("{}: cannot be listed: {}", folder, error.message());
  if (paths.empty())
    throw DataError(
        "{}: holds no regular files (links and subfolders are skipped): name a folder of text "
        "files",
        folder);
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

std::vector<TokenStream> open_token_shards(const std::string& pattern) {
  std::vector<TokenStream> shards;
  for (const std::string& path : matches(pattern)) shards.push_back(open_shard(path));
  return shards;
}

TokenStream open_raw_tokens(const std::string& path) {
  auto file = open_filled(path);
  if (header_field(*file, 0) == kMagic && header_field(*file, 1) == kVersion)
    throw DataError("{}: is an llm.c token file, with a header: read it as tokens:{}", path, path);
  const std::int64_t size = size_of_file(*file);
  if (size % 2 != 0)
    throw DataError(
        "{}: {} bytes are not a whole number of uint16 tokens: it is truncated, or not raw "
        "tokens (text is text:PATH)",
        path, size);
  TokenStream tokens(TokenWidth::half);
  tokens.append(std::move(file), 0, size / 2);
  return tokens;
}

TokenStream open_text(const std::string& path) {
  TokenStream text(TokenWidth::byte);
  std::error_code ignored;  // of a path that is not there; opening it will say so
  const std::vector<std::string> paths =
      fs::is_directory(path, ignored) ? regular_files(path) : std::vector<std::string>{path};
  for (const std::string& file_path : paths) {
    auto file = std::make_shared<const MappedFile>(file_path);
    const std::int64_t size = size_of_file(*file);
    text.append(std::move(file), 0, size);
  }
  if (text.size() == 0) throw DataError("{}: is empty: give text to train on", path);
  return text;
}

}  // namespace tandem

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/mapped_file.h"

namespace tandem {

/// How a file holds its token ids: one byte each, or unsigned 16-bit little-endian.
enum class TokenWidth : std::uint8_t { byte = 1, half = 2 };

/// Tokens in one row, as they lie in one or more mapped files one after the other.
class TokenStream {
 public:
  explicit TokenStream(TokenWidth width) : width_(width) {}

  /// Appends the `count` tokens from byte `offset` of the file.
  void append(std::shared_ptr<const MappedFile> file, std::int64_t offset, std::int64_t count);

  std::int64_t size() const { return size_; }
  std::int64_t bytes() const { return size_ * static_cast<std::int64_t>(width_); }
  /// One more than the largest id that the width can hold.
  std::int64_t id_limit() const { return width_ == TokenWidth::byte ? 256 : 65536; }
  /// Tokens [first, first + count), from the same mappings.
  TokenStream slice(std::int64_t first, std::int64_t count) const;

  /// Copies tokens [first, first + count) to `out`. Throws DataError, naming file, position and id, if one is
  /// not below `vocabulary`.
  void read(std::int64_t first, std::int64_t count, std::int64_t vocabulary, std::int32_t* out) const;
  /// Throws the same for the first such token of all.
  void scan(std::int64_t vocabulary) const;
  /// See MappedFile.
  void expect_random_access() const;
  void release_pages() const;

 private:
  struct Piece {
    std::shared_ptr<const MappedFile> file;
    std::int64_t offset;        // bytes into the file
    std::int64_t first, count;  // tokens [first, first + count) of the stream
  };
  template <class Visit>
  void for_each_piece(std::int64_t first, std::int64_t count, Visit&& visit) const;

  TokenWidth width_;
  std::int64_t size_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace tandem

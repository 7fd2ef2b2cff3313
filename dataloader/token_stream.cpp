#include "dataloader/token_stream.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/error.h"

namespace tandem {

static_assert(std::endian::native == std::endian::little, "token files are read as they lie");

namespace {

// The id is out of range; its position counts the tokens of its file, a header excluded.
[[noreturn]] void refuse_id(const MappedFile& file, std::int64_t position, std::int64_t id,
                            std::int64_t vocabulary) {
  throw DataError(
      "{}: token {} has the id {}, but the vocabulary has {} ids (0 to {}): give --vocab at least {}, or "
      "other data",
      file.path(), position, id, vocabulary, vocabulary - 1, id + 1);
}

template <class Id>
void check_ids(const MappedFile& file, const Id* ids, std::int64_t position, std::int64_t count,
               std::int64_t vocabulary) {
  Id largest = 0;  // one pass that vectorises; who it was matters only if it is too large
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, ids[i]);
  if (largest < vocabulary) return;
  const Id* bad = std::find_if(ids, ids + count, [&](Id id) { return id >= vocabulary; });
  refuse_id(file, position + (bad - ids), *bad, vocabulary);
}

// Calls f with the address as the width's type.
template <class F>
void visit_ids(TokenWidth width, const std::uint8_t* address, F&& f) {
  if (width == TokenWidth::byte)
    f(address);
  else
    f(reinterpret_cast<const std::uint16_t*>(address));
}

}  // namespace

void TokenStream::append(std::shared_ptr<const MappedFile> file, std::int64_t offset, std::int64_t count) {
  const auto end = offset + count * static_cast<std::int64_t>(width_);
  require(offset >= 0 && count >= 0 && end <= static_cast<std::int64_t>(file->bytes().size()),
          "{}: {} tokens from byte {} are not there", file->path(), count, offset);
  if (count == 0) return;
  pieces_.push_back({std::move(file), offset, size_, count});
  size_ += count;
}

// Calls visit(piece, address, position, count) for each stretch of [first, first + count) that lies in one
// file; `position` counts the piece's tokens.
template <class Visit>
void TokenStream::for_each_piece(std::int64_t first, std::int64_t count, Visit&& visit) const {
  require(first >= 0 && count >= 0 && first + count <= size_, "tokens {} to {} of a stream of {}", first,
          first + count, size_);
  auto piece =
      std::upper_bound(pieces_.begin(), pieces_.end(), first,
                       [](std::int64_t position, const Piece& p) { return position < p.first + p.count; });
  for (; count > 0; ++piece) {
    const std::int64_t position = first - piece->first;
    const std::int64_t here = std::min(count, piece->count - position);
    const std::int64_t byte = piece->offset + position * static_cast<std::int64_t>(width_);
    visit(*piece, piece->file->bytes().data() + byte, position, here);
    first += here;
    count -= here;
  }
}

TokenStream TokenStream::slice(std::int64_t first, std::int64_t count) const {
  TokenStream part(width_);
  const auto width = static_cast<std::int64_t>(width_);
  for_each_piece(first, count,
                 [&](const Piece& piece, const std::uint8_t*, std::int64_t position, std::int64_t here) {
                   part.append(piece.file, piece.offset + position * width, here);
                 });
  return part;
}

void TokenStream::read(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
                       std::int32_t* out) const {
  for_each_piece(
      first, count,
      [&](const Piece& piece, const std::uint8_t* address, std::int64_t position, std::int64_t here) {
        visit_ids(width_, address, [&](const auto* ids) {
          check_ids(*piece.file, ids, position, here, vocabulary);
          out = std::copy_n(ids, here, out);
        });
      });
}

void TokenStream::scan(std::int64_t vocabulary) const {
  if (vocabulary >= id_limit()) return;
  for_each_piece(
      0, size_,
      [&](const Piece& piece, const std::uint8_t* address, std::int64_t position, std::int64_t here) {
        visit_ids(width_, address,
                  [&](const auto* ids) { check_ids(*piece.file, ids, position, here, vocabulary); });
      });
}

void TokenStream::expect_random_access() const {
  for (const Piece& piece : pieces_) piece.file->expect_random_access();
}

void TokenStream::release_pages() const {
  for (const Piece& piece : pieces_) piece.file->release_pages();
}

}  // namespace tandem

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tandem {

/// A 64-bit hash for telling replicas apart, not for security: FNV-1a's xor and multiply, taken eight bytes
/// at a time, with the high half folded down so that every bit of a word reaches every bit of the hash.
class Hash {
 public:
  Hash& add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x100000001B3ull;
    state_ = (state_ ^ (state_ >> 32)) * 0x9E3779B97F4A7C15ull;
    return *this;
  }
  /// The bytes' number is part of the hash: "ab" and "c" differ from "a" and "bc".
  Hash& add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const std::byte*>(data);
    std::size_t left = bytes;
    for (; left >= 8; left -= 8, at += 8) add(word_at(at, 8));
    return add(word_at(at, left)).add(static_cast<std::uint64_t>(bytes));
  }
  Hash& add(std::string_view text) { return add(text.data(), text.size()); }

  std::uint64_t value() const { return state_; }

 private:
  static std::uint64_t word_at(const std::byte* at, std::size_t bytes) {
    std::uint64_t word = 0;
    if (bytes > 0) std::memcpy(&word, at, bytes);
    return word;
  }

  std::uint64_t state_ = 0xCBF29CE484222325ull;
};

}  // namespace tandem

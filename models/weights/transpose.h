#pragma once

#include <algorithm>
#include <cstdint>

namespace tandem {

/// to [columns, rows] = the transpose of from [rows, columns], in tiles that fit the cache.
inline void transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
  constexpr std::int64_t kTile = 32;
  for (std::int64_t top = 0; top < rows; top += kTile)
    for (std::int64_t left = 0; left < columns; left += kTile)
      for (std::int64_t column = left; column < std::min(left + kTile, columns); ++column)
        for (std::int64_t row = top; row < std::min(top + kTile, rows); ++row)
          to[column * rows + row] = from[row * columns + column];
}

}  // namespace tandem

#pragma once

#include <algorithm>
#include <cstdint>

#include "core/ops/cpu/parallel.h"
#include "core/ops/write.h"

namespace tandem::ops::cpu {

/// out [columns] (+)= Σ over rows of `term(row, column)`. Columns are split among threads, and rows are added
/// in blocks, so that the sum does not depend on the number of threads and rounding grows slowly with that of
/// rows.
template <class T, class Term>
void column_sums(const Context& context, std::int64_t rows, std::int64_t columns, Term&& term, T* out,
                 Write write) {
  constexpr std::int64_t kStripe = 64, kBlock = 64;
  parallel_for(context, columns, kStripe, kStripe, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += kStripe) {
      const std::int64_t width = std::min(kStripe, end - first);
      T total[kStripe] = {};
      for (std::int64_t block = 0; block < rows; block += kBlock) {
        T sums[kStripe] = {};
        for (std::int64_t row = block; row < std::min(rows, block + kBlock); ++row)
          for (std::int64_t j = 0; j < width; ++j) sums[j] += term(row, first + j);
        for (std::int64_t j = 0; j < width; ++j) total[j] += sums[j];
      }
      for (std::int64_t j = 0; j < width; ++j)
        out[first + j] = write == Write::add ? out[first + j] + total[j] : total[j];
    }
  });
}

}  // namespace tandem::ops::cpu

#pragma once

#include <cstdint>
#include <utility>

#include "core/ops/cpu/simd.h"

namespace tandem::ops::cpu {

/// One step of a transposition: where two rows lie `Half` apart in a square of 2·Half, swaps the upper one's
/// right half with the lower one's left half, in all such squares of the rows at once.
template <class T, int Half, std::size_t... Lane>
inline void swap_halves(Vec<T>& upper, Vec<T>& lower, std::index_sequence<Lane...>) {
  constexpr int kLane = kLanes<T>;
  constexpr IntVec<T> kUpper = {(Lane & Half ? kLane + Lane - Half : Lane)...};
  constexpr IntVec<T> kLower = {(Lane & Half ? kLane + Lane : Lane + Half)...};
  const Vec<T> a = upper, b = lower;
  upper = __builtin_shuffle(a, b, kUpper);
  lower = __builtin_shuffle(a, b, kLower);
}

template <class T, int Half>
inline void transpose_rows(Vec<T> (&rows)[kLanes<T>]) {
  if constexpr (Half > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < kLanes<T>; ++i)
      if (!(i & Half)) swap_halves<T, Half>(rows[i], rows[i + Half], std::make_index_sequence<kLanes<T>>{});
    transpose_rows<T, Half / 2>(rows);
  }
}

/// to[j, i] = from[i, j] for a square of one vector's side, in registers.
template <class T>
inline void transpose_block(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
  Vec<T> rows[kLanes<T>];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes<T>; ++i) rows[i] = load(from + i * from_stride);
  transpose_rows<T, kLanes<T> / 2>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < kLanes<T>; ++i) store(to + i * to_stride, rows[i]);
}

}  // namespace tandem::ops::cpu

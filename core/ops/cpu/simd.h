#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace tandem::ops::cpu {

// Vectors of the compiler (GCC and Clang): `a * b + c` on them is one instruction for all lanes. The order of
// every sum is therefore ours and the same wherever the data lie; libraries that peel loops until a pointer
// is aligned do not promise that.

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64, kVectorRegisters = 32;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32, kVectorRegisters = 16;
#else
inline constexpr int kVectorBytes = 16, kVectorRegisters = 16;
#endif

template <class T>
struct VectorTypes {
  using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef T Vec __attribute__((vector_size(kVectorBytes)));
  typedef Int IntVec __attribute__((vector_size(kVectorBytes)));
  typedef T UnalignedVec __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};
template <class T>
using Vec = typename VectorTypes<T>::Vec;
template <class T>
using IntVec = typename VectorTypes<T>::IntVec;

/// Elements of a vector.
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
inline Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename VectorTypes<T>::UnalignedVec*>(p);
}

template <class T>
inline void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename VectorTypes<T>::UnalignedVec*>(p) = v;
}

/// A whole vector of an array, at `i`; PartialVector is the last one, of `n` lanes. Lanes beyond the end read
/// as `fill`.
struct WholeVector {
  std::int64_t i;
  template <class T>
  Vec<T> load(const T* p, T = 0) const {
    return cpu::load(p + i);
  }
  template <class T>
  void store(T* p, Vec<T> v) const {
    cpu::store(p + i, v);
  }
};
struct PartialVector {
  std::int64_t i, n;
  template <class T>
  Vec<T> load(const T* p, T fill = 0) const {
    Vec<T> v = Vec<T>{} + fill;
    std::memcpy(&v, p + i, static_cast<std::size_t>(n) * sizeof(T));
    return v;
  }
  template <class T>
  void store(T* p, const Vec<T>& v) const {
    std::memcpy(p + i, &v, static_cast<std::size_t>(n) * sizeof(T));
  }
};

/// Calls `body(at)` for each vector of the elements [begin, end): `at.load(p)` and `at.store(p, v)` access it
/// in an array.
template <class T, class Body>
inline void for_vectors(std::int64_t begin, std::int64_t end, Body&& body) {
  std::int64_t i = begin;
  for (; i + kLanes<T> <= end; i += kLanes<T>) body(WholeVector{i});
  if (i < end) body(PartialVector{i, end - i});
}

template <class T>
inline Vec<T> max(Vec<T> a, Vec<T> b) {
  return a < b ? b : a;
}

/// Each lane i takes the value of lane i ^ Distance.
template <class T, int Distance, std::size_t... Lane>
inline Vec<T> swap_lanes(Vec<T> v, std::index_sequence<Lane...>) {
  constexpr IntVec<T> kFrom = {(Lane ^ Distance)...};
  return __builtin_shuffle(v, kFrom);
}

/// Combines all lanes into the first, by halves.
template <class T, int Half, class Combine>
inline T reduce(Vec<T> v, Combine&& combine) {
  if constexpr (Half == 0) {
    return v[0];
  } else {
    v = combine(v, swap_lanes<T, Half>(v, std::make_index_sequence<kLanes<T>>{}));
    return reduce<T, Half / 2>(v, combine);
  }
}

/// Sum of the lanes.
template <class T>
inline T sum(Vec<T> v) {
  return reduce<T, kLanes<T> / 2>(v, [](Vec<T> a, Vec<T> b) { return a + b; });
}

/// Largest lane. A NaN may get lost.
template <class T>
inline T max(Vec<T> v) {
  return reduce<T, kLanes<T> / 2>(v, [](Vec<T> a, Vec<T> b) { return max<T>(a, b); });
}

/// eˣ in each lane. double: the library's. float: x = n·ln 2 + r with |r| ≤ ln 2 / 2, eʳ by a polynomial of
/// degree 6 (relative error under 2e-7); 0 below e^-87, at most e^87, NaN stays NaN.
template <class T>
inline Vec<T> exp(Vec<T> x) {
  if constexpr (std::is_same_v<T, double>) {
    for (int i = 0; i < kLanes<T>; ++i) x[i] = std::exp(x[i]);
    return x;
  } else {
    const auto underflow = x < -87.0f;
    x = x > 87.0f ? Vec<T>{} + 87.0f : x;
    x = underflow ? Vec<T>{} : x;
    constexpr float kRounder = 0x1.8p23f;  // adding and subtracting it rounds to an integer
    const Vec<T> n = (x * 1.44269504f + kRounder) - kRounder;
    const Vec<T> r = (x - n * 0.693359375f) - n * -2.12194440e-4f;  // ln 2 in two parts: n·first is exact
    Vec<T> p = r * (1.0f / 720) + (1.0f / 120);
    p = p * r + (1.0f / 24);
    p = p * r + (1.0f / 6);
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const IntVec<T> exponent = (__builtin_convertvector(n, IntVec<T>) + 127) << 23;
    return underflow ? Vec<T>{} : p * reinterpret_cast<Vec<T>>(exponent);
  }
}

}  // namespace tandem::ops::cpu

#pragma once

#include <cstdint>
#include <type_traits>

#include "core/ops/cuda/elements.cuh"

namespace tandem::ops::cuda {

/// N elements in registers, moved by accesses of up to 16 bytes, which their address must be a multiple of.
template <class T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Elements {
  T at[N];

  static __device__ Elements load(const T* p) { return *reinterpret_cast<const Elements*>(p); }
  __device__ void store(T* p) const { *reinterpret_cast<Elements*>(p) = *this; }

  static __device__ Elements zero() {
    Elements e;
#pragma unroll
    for (int i = 0; i < N; ++i) e.at[i] = from_float<T>(0);
    return e;
  }
  __device__ float operator[](int i) const {
    return to_float(at[i]);
  }
  __device__ void set(int i, float x) {
    at[i] = from_float<T>(x);
  }
};

/// Whether 16-byte accesses may start at all of these addresses (a null one is not used).
template <class... Ts>
bool aligned(const Ts*... addresses) {
  return ((reinterpret_cast<std::uintptr_t>(addresses) | ...) % 16) == 0;
}

/// Calls `f` with a constant: N elements at a time where that is `possible`, else one.
template <int N, class F>
void visit_vectors(bool possible, F&& f) {
  if (possible)
    f(std::integral_constant<int, N>{});
  else
    f(std::integral_constant<int, 1>{});
}

/// Calls `f(T{}, G{})` for values of type T and their gradient's G: T, or float.
template <class F>
void visit_gradient(DType value, DType gradient, F&& f) {
  require(gradient == value || gradient == DType::f32, "a gradient of {} for values of {}: make it {} or f32",
          name_of(gradient), name_of(value), name_of(value));
  visit_device(value, [&](auto zero) {
    if (gradient == DType::f32)
      f(zero, float{});
    else
      f(zero, zero);
  });
}

inline constexpr int kWarp = 32;
inline constexpr int kMostWarps = 32;  // of a block

/// The sum over a warp, the same bits in all lanes.
template <class T>
__device__ inline T warp_sum(T x) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

/// The sum over a block of whole warps in one dimension, the same bits in all threads. `scratch` is shared
/// memory: [warps].
template <class T>
__device__ inline T block_sum(T x, T* scratch) {
  x = warp_sum(x);
  __syncthreads();  // all have read what an earlier sum left here
  if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = x;
  __syncthreads();
  T sum = 0;
  for (unsigned warp = 0; warp < blockDim.x / kWarp; ++warp) sum += scratch[warp];
  return sum;
}

/// Threads for `items` pieces of work: whole warps, at least one and at most `most` threads.
inline unsigned threads_for(std::int64_t items, int most) {
  const std::int64_t threads = (items + kWarp - 1) / kWarp * kWarp;
  return static_cast<unsigned>(threads < kWarp ? kWarp : threads > most ? most : threads);
}

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace tandem::ops::cuda

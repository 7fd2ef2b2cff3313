#pragma once

#include <cstdint>

#include "core/ops/cuda/elements.cuh"

// Products of tiles in shared memory, of which attention consists; in float. A block has 16 × (tile / kRows)
// threads (tx, ty); thread (tx, ty) owns rows ty·kRows + i and columns tx + 16·j of a result, in registers.
// So a row belongs to half a warp.

namespace tandem::ops::cuda {

inline constexpr int kLanes = 16;  // threads that share a row

/// Heads are padded with zeros to kHead elements; a tile has kTile rows, a thread kRows of them.
template <int kHead_, int kTile_, int kRows_>
struct Tiling {
  static constexpr int kHead = kHead_, kTile = kTile_, kRows = kRows_;
  static constexpr int kThreads = kTile / kRows * kLanes;
  static constexpr int kKeys = kTile / kLanes;      // columns of a thread in a tile of scores
  static constexpr int kElements = kHead / kLanes;  // and in a tile of heads
  static constexpr int kHeadStride = kHead + 4;     // 4: eight rows' float4 fall into different banks
  static constexpr int kScoreStride = kTile + 4;
  static constexpr int kHeadTile = kTile * kHeadStride, kScoreTile = kTile * kScoreStride;
  using Scores = float[kRows][kKeys];
  using Heads = float[kRows][kElements];
};

/// tile [kTile, kHead] = `count` rows of a head, the rest zero. Whole groups of four elements where heads
/// allow.
template <class Tile, class T>
__device__ void load(float* tile, const T* rows, std::int64_t stride, int count, int head_size) {
  struct alignas(4 * sizeof(T)) Four {
    T at[4];
  };
  const bool aligned = head_size % 4 == 0;
  for (int i = threadIdx.x; i < Tile::kTile * Tile::kHead / 4; i += Tile::kThreads) {
    const int r = i / (Tile::kHead / 4), c = i % (Tile::kHead / 4) * 4;
    const T* from = rows + r * stride + c;
    float x[4] = {};
    if (r < count && aligned && c < head_size) {
      const Four four = *reinterpret_cast<const Four*>(from);
#pragma unroll
      for (int j = 0; j < 4; ++j) x[j] = to_float(four.at[j]);
    } else if (r < count && !aligned) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (c + j < head_size) x[j] = to_float(from[j]);
    }
    *reinterpret_cast<float4*>(tile + r * Tile::kHeadStride + c) = make_float4(x[0], x[1], x[2], x[3]);
  }
}

/// The thread's rows of a result go to memory, `factors` times each.
template <class Tile, class T>
__device__ void store(const typename Tile::Heads& result, const float* factors, T* rows, std::int64_t stride,
                      int count, int head_size) {
  const int tx = threadIdx.x % kLanes, first = threadIdx.x / kLanes * Tile::kRows;
#pragma unroll
  for (int i = 0; i < Tile::kRows; ++i)
#pragma unroll
    for (int j = 0; j < Tile::kElements; ++j)
      if (const int c = tx + kLanes * j; first + i < count && c < head_size)
        rows[(first + i) * stride + c] = from_float<T>(result[i][j] * factors[i]);
}

/// scores [kTile, kTile] = a · bᵀ, both [kTile, kHead].
template <class Tile>
__device__ void multiply(typename Tile::Scores& scores, const float* a, const float* b) {
  a += threadIdx.x / kLanes * Tile::kRows * Tile::kHeadStride;
  b += threadIdx.x % kLanes * Tile::kHeadStride;
#pragma unroll
  for (int i = 0; i < Tile::kRows; ++i)
#pragma unroll
    for (int j = 0; j < Tile::kKeys; ++j) scores[i][j] = 0;
#pragma unroll 2
  for (int k = 0; k < Tile::kHead; k += 4) {
    float4 right[Tile::kKeys];
#pragma unroll
    for (int j = 0; j < Tile::kKeys; ++j)
      right[j] = *reinterpret_cast<const float4*>(b + kLanes * j * Tile::kHeadStride + k);
#pragma unroll
    for (int i = 0; i < Tile::kRows; ++i) {
      const float4 left = *reinterpret_cast<const float4*>(a + i * Tile::kHeadStride + k);
#pragma unroll
      for (int j = 0; j < Tile::kKeys; ++j) {
        float& s = scores[i][j];
        s = fmaf(left.x, right[j].x, s);
        s = fmaf(left.y, right[j].y, s);
        s = fmaf(left.z, right[j].z, s);
        s = fmaf(left.w, right[j].w, s);
      }
    }
  }
}

/// result [kTile, kHead] += scores [kTile, kTile] · b [kTile, kHead]. The scores go by way of shared memory:
/// each row is written and read by one half of a warp.
template <class Tile>
__device__ void multiply_add(typename Tile::Heads& result, const typename Tile::Scores& scores, float* buffer,
                             const float* b) {
  buffer += threadIdx.x / kLanes * Tile::kRows * Tile::kScoreStride;
  b += threadIdx.x % kLanes;
  __syncwarp();  // what was there has been read
#pragma unroll
  for (int i = 0; i < Tile::kRows; ++i)
#pragma unroll
    for (int j = 0; j < Tile::kKeys; ++j)
      buffer[i * Tile::kScoreStride + threadIdx.x % kLanes + kLanes * j] = scores[i][j];
  __syncwarp();
#pragma unroll 2
  for (int k = 0; k < Tile::kTile; k += 4) {
    float right[4][Tile::kElements];
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
      for (int j = 0; j < Tile::kElements; ++j) right[r][j] = b[(k + r) * Tile::kHeadStride + kLanes * j];
#pragma unroll
    for (int i = 0; i < Tile::kRows; ++i) {
      const float4 left = *reinterpret_cast<const float4*>(buffer + i * Tile::kScoreStride + k);
#pragma unroll
      for (int j = 0; j < Tile::kElements; ++j) {
        float& x = result[i][j];
        x = fmaf(left.x, right[0][j], x);
        x = fmaf(left.y, right[1][j], x);
        x = fmaf(left.z, right[2][j], x);
        x = fmaf(left.w, right[3][j], x);
      }
    }
  }
}

__device__ inline float row_sum(float x) {
  for (int lane = kLanes / 2; lane > 0; lane /= 2) x += __shfl_xor_sync(0xffffffff, x, lane);
  return x;
}
__device__ inline float row_max(float x) {
  for (int lane = kLanes / 2; lane > 0; lane /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, lane));
  return x;
}

}  // namespace tandem::ops::cuda

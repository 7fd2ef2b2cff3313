#include <cmath>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_device.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/attention_tiles.cuh"
#include "core/ops/cuda/own_attention.h"

// After Dao et al. 2022, FlashAttention: scores exist only as tiles. A block owns the rows of one tile
// (queries, or keys where dK and dV are made) of one head and walks through the tiles of the other side, so
// every sum has one owner and one order.

namespace tandem::ops::cuda {

namespace {

// Backward holds four tiles of heads where forward holds two; an SM of compute capability 8.6 has 99 KiB.
template <int kHead>
using ForwardTiling = Tiling<kHead, 64, 8>;
template <int kHead>
using BackwardTiling = Tiling<kHead, (kHead > 64 ? 32 : 64), (kHead > 64 ? 4 : 8)>;

template <class T>
struct Attention {
  const T *qkv, *y, *dy;
  T *out, *dqkv;  // out: y of forward
  float *lse, *delta;
  int sequence, heads, head_size;

  __host__ __device__ std::int64_t width() const { return static_cast<std::int64_t>(heads) * head_size; }
  /// Elements before part 0 (q), 1 (k) or 2 (v) of row `t`, for the block's head: [B, T, 3, heads, head
  /// size].
  __device__ std::int64_t packed(int part, std::int64_t t) const {
    return (blockIdx.x / heads * static_cast<std::int64_t>(sequence) + t) * 3 * width() + part * width() +
           blockIdx.x % heads * static_cast<std::int64_t>(head_size);
  }
  /// The same in [B, T, heads, head size] and in [B, heads, T].
  __device__ std::int64_t plain(std::int64_t t) const {
    return (blockIdx.x / heads * static_cast<std::int64_t>(sequence) + t) * width() +
           blockIdx.x % heads * static_cast<std::int64_t>(head_size);
  }
  __device__ std::int64_t row(std::int64_t t) const {
    return blockIdx.x * static_cast<std::int64_t>(sequence) + t;
  }
  /// Scores are taken to base 2: exp(scale·s − lse) = exp2(scale2·s − lse·log2 e).
  __device__ float scale() const { return 1 / sqrtf(static_cast<float>(head_size)); }
  __device__ float scale2() const { return scale() * kLog2E; }

  static constexpr float kLog2E = 1.44269504088896340736f, kLn2 = 0.69314718055994530942f;
};

/// A block makes y and lse of one tile of queries. Grid: (batch · heads, tiles), the longest first.
template <class Tile, class T>
__global__ void __launch_bounds__(Tile::kThreads) forward_kernel(const Attention<T> at) {
  extern __shared__ float4 shared[];
  float *q = reinterpret_cast<float*>(shared), *kv = q + Tile::kHeadTile, *buffer = kv + Tile::kHeadTile;
  const int first = (gridDim.y - 1 - blockIdx.y) * Tile::kTile, count = min(Tile::kTile, at.sequence - first);
  const int tx = threadIdx.x % kLanes, mine = first + threadIdx.x / kLanes * Tile::kRows;
  const std::int64_t stride = 3 * at.width();
  load<Tile>(q, at.qkv + at.packed(0, first), stride, count, at.head_size);
  typename Tile::Heads y = {};
  float top[Tile::kRows], sum[Tile::kRows] = {};  // the sum is this thread's share of it
#pragma unroll
  for (float& x : top) x = -INFINITY;
  for (int keys = 0; keys <= first; keys += Tile::kTile) {
    typename Tile::Scores s;
    __syncthreads();  // all have used the values that were here
    load<Tile>(kv, at.qkv + at.packed(1, keys), stride, at.sequence - keys, at.head_size);
    __syncthreads();
    multiply<Tile>(s, q, kv);
#pragma unroll
    for (int i = 0; i < Tile::kRows; ++i) {
      float highest = top[i];
#pragma unroll
      for (int j = 0; j < Tile::kKeys; ++j) {
        s[i][j] = keys + tx + kLanes * j <= mine + i ? s[i][j] * at.scale2() : -INFINITY;
        highest = fmaxf(highest, s[i][j]);
      }
      highest = row_max(highest);  // finite: the first tile has a key for every row
      const float shrink = exp2f(top[i] - highest);
      top[i] = highest;
      sum[i] *= shrink;
#pragma unroll
      for (int j = 0; j < Tile::kKeys; ++j) sum[i] += s[i][j] = exp2f(s[i][j] - highest);
#pragma unroll
      for (int j = 0; j < Tile::kElements; ++j) y[i][j] *= shrink;
    }
    __syncthreads();  // all have used the keys
    load<Tile>(kv, at.qkv + at.packed(2, keys), stride, at.sequence - keys, at.head_size);
    __syncthreads();
    multiply_add<Tile>(y, s, buffer, kv);
  }
#pragma unroll
  for (int i = 0; i < Tile::kRows; ++i) {
    const float total = row_sum(sum[i]);
    if (tx == 0 && mine + i < at.sequence) at.lse[at.row(mine + i)] = (top[i] + log2f(total)) * at.kLn2;
    sum[i] = 1 / total;
  }
  store<Tile>(y, sum, at.out + at.plain(first), at.width(), count, at.head_size);
}

/// A block makes dQ of one tile of queries, and `delta` = Σ y·dy by rows, which the other kernel reads after
/// it. With P = softmax(q·kᵀ): dP = dY·Vᵀ, dS = P ∘ (dP − delta)·scale, dQ = dS·K. Grid as in forward.
template <class Tile, class T>
__global__ void __launch_bounds__(Tile::kThreads) backward_queries_kernel(const Attention<T> at) {
  extern __shared__ float4 shared[];
  float *q = reinterpret_cast<float*>(shared), *dy = q + Tile::kHeadTile, *k = dy + Tile::kHeadTile,
        *v = k + Tile::kHeadTile, *buffer = v + Tile::kHeadTile;
  const int first = (gridDim.y - 1 - blockIdx.y) * Tile::kTile, count = min(Tile::kTile, at.sequence - first);
  const int tx = threadIdx.x % kLanes, row = threadIdx.x / kLanes * Tile::kRows, mine = first + row;
  const std::int64_t stride = 3 * at.width();
  load<Tile>(q, at.qkv + at.packed(0, first), stride, count, at.head_size);
  load<Tile>(dy, at.dy + at.plain(first), at.width(), count, at.head_size);
  __syncthreads();
  float lse2[Tile::kRows], delta[Tile::kRows], scale[Tile::kRows];
#pragma unroll
  for (int i = 0; i < Tile::kRows; ++i) {
    const bool inside = mine + i < at.sequence;
    float product = 0;
    if (inside)
      for (int c = tx; c < at.head_size; c += kLanes)
        product += to_float(at.y[at.plain(mine + i) + c]) * dy[(row + i) * Tile::kHeadStride + c];
    delta[i] = row_sum(product);
    lse2[i] = inside ? at.lse[at.row(mine + i)] * at.kLog2E : 0;
    scale[i] = at.scale();
    if (tx == 0 && inside) at.delta[at.row(mine + i)] = delta[i];
  }
  typename Tile::Heads dq = {};
  for (int keys = 0; keys <= first; keys += Tile::kTile) {
    typename Tile::Scores s, ds;
    __syncthreads();  // all have used the tiles that were here
    load<Tile>(k, at.qkv + at.packed(1, keys), stride, at.sequence - keys, at.head_size);
    load<Tile>(v, at.qkv + at.packed(2, keys), stride, at.sequence - keys, at.head_size);
    __syncthreads();
    multiply<Tile>(s, q, k);
    multiply<Tile>(ds, dy, v);
#pragma unroll
    for (int i = 0; i < Tile::kRows; ++i)
#pragma unroll
      for (int j = 0; j < Tile::kKeys; ++j) {
        const bool seen = keys + tx + kLanes * j <= mine + i;
        ds[i][j] = seen ? exp2f(s[i][j] * at.scale2() - lse2[i]) * (ds[i][j] - delta[i]) : 0;
      }
    multiply_add<Tile>(dq, ds, buffer, k);
  }
  store<Tile>(dq, scale, at.dqkv + at.packed(0, first), stride, count, at.head_size);
}

/// A block makes dK = dSᵀ·Q and dV = Pᵀ·dY of one tile of keys. Grid: (batch · heads, tiles), the longest
/// first.
template <class Tile, class T>
__global__ void __launch_bounds__(Tile::kThreads) backward_keys_kernel(const Attention<T> at) {
  extern __shared__ float4 shared[];
  float *k = reinterpret_cast<float*>(shared), *v = k + Tile::kHeadTile, *q = v + Tile::kHeadTile,
        *dy = q + Tile::kHeadTile, *buffer = dy + Tile::kHeadTile;
  const int first = blockIdx.y * Tile::kTile, count = min(Tile::kTile, at.sequence - first);
  const int tx = threadIdx.x % kLanes, mine = first + threadIdx.x / kLanes * Tile::kRows;
  const std::int64_t stride = 3 * at.width();
  load<Tile>(k, at.qkv + at.packed(1, first), stride, count, at.head_size);
  load<Tile>(v, at.qkv + at.packed(2, first), stride, count, at.head_size);
  typename Tile::Heads dk = {}, dv = {};
  for (int queries = first; queries < at.sequence; queries += Tile::kTile) {
    typename Tile::Scores p, ds;  // transposed: rows are keys
    __syncthreads();              // all have used the tiles that were here
    load<Tile>(q, at.qkv + at.packed(0, queries), stride, at.sequence - queries, at.head_size);
    load<Tile>(dy, at.dy + at.plain(queries), at.width(), at.sequence - queries, at.head_size);
    __syncthreads();
    multiply<Tile>(p, k, q);
    multiply<Tile>(ds, v, dy);
#pragma unroll
    for (int j = 0; j < Tile::kKeys; ++j) {
      const int query = queries + tx + kLanes * j;
      const bool inside = query < at.sequence;
      const float lse2 = inside ? at.lse[at.row(query)] * at.kLog2E : 0;
      const float delta = inside ? at.delta[at.row(query)] : 0;
#pragma unroll
      for (int i = 0; i < Tile::kRows; ++i) {
        p[i][j] = inside && mine + i <= query ? exp2f(p[i][j] * at.scale2() - lse2) : 0;
        ds[i][j] = p[i][j] * (ds[i][j] - delta);
      }
    }
    multiply_add<Tile>(dv, p, buffer, dy);
    multiply_add<Tile>(dk, ds, buffer, q);
  }
  float scale[Tile::kRows], one[Tile::kRows];
#pragma unroll
  for (int i = 0; i < Tile::kRows; ++i) scale[i] = at.scale(), one[i] = 1;
  store<Tile>(dk, scale, at.dqkv + at.packed(1, first), stride, count, at.head_size);
  store<Tile>(dv, one, at.dqkv + at.packed(2, first), stride, count, at.head_size);
}

/// Launches a kernel whose shared memory is `head_tiles` tiles of heads and one of scores.
template <class Tile, class T>
void launch(Context& context, void (*kernel)(Attention<T>), int head_tiles, std::int64_t batch,
            const Attention<T>& at) {
  const int bytes = (head_tiles * Tile::kHeadTile + Tile::kScoreTile) * static_cast<int>(sizeof(float));
  const dim3 grid(static_cast<unsigned>(batch * at.heads),
                  static_cast<unsigned>((at.sequence + Tile::kTile - 1) / Tile::kTile));
  TANDEM_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<grid, Tile::kThreads, bytes, tandem::cuda::stream_of(context.compute())>>>(at);
  TANDEM_CUDA(cudaGetLastError());
}

/// Calls `f` with the padded head size as its template argument.
template <class F>
void visit_head_size(int head_size, F&& f) {
  if (head_size <= 32) return f.template operator()<32>();
  if (head_size <= 64) return f.template operator()<64>();
  return f.template operator()<128>();
}

}  // namespace

std::int64_t own_attention_scratch(const TensorSpec& qkv, std::int64_t heads) {
  const std::int64_t head_size = qkv.shape.last() / 3 / heads;
  require(
      head_size <= 128,
      "attention on a GPU takes heads of at most 128 elements, not {}: choose more heads or a smaller width",
      head_size);
  return qkv.shape.rows() * heads * static_cast<std::int64_t>(sizeof(float));  // delta [B, heads, T]
}

void own_attention_forward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                           const Tensor& lse) {
  visit_device(qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Attention<T> at{};
    at.qkv = static_cast<const T*>(qkv.data());
    at.out = static_cast<T*>(y.data());
    at.lse = lse.as<float>();
    at.sequence = static_cast<int>(y.shape()[1]);
    at.heads = static_cast<int>(heads);
    at.head_size = static_cast<int>(y.last() / heads);
    visit_head_size(at.head_size, [&]<int kHead>() {
      using Tile = ForwardTiling<kHead>;
      launch<Tile, T>(context, forward_kernel<Tile, T>, 2, y.shape()[0], at);
    });
  });
}

void own_attention_backward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                            const Tensor& lse, const Tensor& dy, const Tensor& dqkv, const Tensor& scratch) {
  visit_device(qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Attention<T> at{};
    at.qkv = static_cast<const T*>(qkv.data());
    at.y = static_cast<const T*>(y.data());
    at.dy = static_cast<const T*>(dy.data());
    at.dqkv = static_cast<T*>(dqkv.data());
    at.lse = lse.as<float>();
    at.delta = static_cast<float*>(scratch.data());
    at.sequence = static_cast<int>(y.shape()[1]);
    at.heads = static_cast<int>(heads);
    at.head_size = static_cast<int>(y.last() / heads);
    visit_head_size(at.head_size, [&]<int kHead>() {
      using Tile = BackwardTiling<kHead>;
      launch<Tile, T>(context, backward_queries_kernel<Tile, T>, 4, y.shape()[0], at);
      launch<Tile, T>(context, backward_keys_kernel<Tile, T>, 4, y.shape()[0], at);
    });
  });
}

}  // namespace tandem::ops::cuda

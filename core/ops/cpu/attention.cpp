#include <algorithm>
#include <cmath>
#include <limits>
#include <omp.h>

#include "core/ops/cpu/cpu_ops.h"
#include "core/ops/cpu/gemm.h"
#include "core/ops/cpu/parallel.h"
#include "core/ops/cpu/simd.h"

// Queries are taken in blocks of kBlock rows. A block that ends at position `keys` sees the keys before it,
// so its scores are a matrix [rows, keys]: what lies above the diagonal's blocks is never computed, and what
// is left of it within a block is set to zero.

namespace tandem::ops::cpu {

namespace {

// Small blocks waste less above the diagonal, large ones pack keys and values less often: 32 is best for
// sequences of a few hundred, and 8% behind 64 at 1024.
constexpr std::int64_t kBlock = 32;

std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/// Elements from row to row of a block of scores: whole vectors.
std::int64_t score_stride(std::int64_t sequence) {
  return round_up(sequence, 64);
}

struct AttentionSizes {
  std::int64_t batch, sequence, width, heads, head_size;

  /// Where head `h` of sample `b` begins in [B, T, C] and in [B, T, 3C].
  std::int64_t offset(std::int64_t b, std::int64_t h) const { return b * sequence * width + h * head_size; }
  std::int64_t packed_offset(std::int64_t b, std::int64_t h) const {
    return 3 * b * sequence * width + h * head_size;
  }
};

AttentionSizes sizes_of(const Tensor& qkv, std::int64_t heads) {
  const std::int64_t width = qkv.last() / 3;
  return {qkv.shape()[0], qkv.shape()[1], width, heads, width / heads};
}

/// Calls `body(b, h, scratch)` for each head of each sample, split among threads, each with its own scratch.
template <class T, class Body>
void for_heads(const Context& context, const AttentionSizes& s, const Tensor& scratch, Body&& body) {
  const std::int64_t share = 2 * kBlock * score_stride(s.sequence);
  T* memory = static_cast<T*>(scratch.data());
  parallel_for(context, s.batch * s.heads, 1, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      body(i / s.heads, i % s.heads, memory + omp_get_thread_num() * share);
  });
}

/// Scores s [keys] of a query that sees the first `visible` keys → exp(scale·s − shift), 0 for the others.
/// Returns their sum.
template <class T>
T exponentiate(T* s, std::int64_t visible, std::int64_t keys, T scale, T shift) {
  const std::int64_t vectors = round_up(visible, kLanes<T>);  // at most the stride
  std::fill(s + visible, s + std::max(vectors, keys), -std::numeric_limits<T>::infinity());
  Vec<T> sum{};
  for_vectors<T>(0, vectors, [&](auto at) {
    const Vec<T> p = exp<T>(at.load(s) * scale - shift);
    at.store(s, p);
    sum += p;
  });
  if (vectors < keys) std::fill(s + vectors, s + keys, T(0));
  return cpu::sum<T>(sum);
}

template <class T>
T largest(const T* s, std::int64_t count) {
  Vec<T> m = Vec<T>{} + s[0];
  for_vectors<T>(0, count, [&](auto at) { m = max<T>(m, at.load(s, s[0])); });
  return max<T>(m);
}

/// y [T, d] at stride C and lse [T] of one head.
template <class T>
void forward_head(const AttentionSizes& size, const T* qkv, T* y, T* lse, T* scores) {
  const std::int64_t d = size.head_size, packed = 3 * size.width, stride = score_stride(size.sequence);
  const T *q = qkv, *k = qkv + size.width, *v = qkv + 2 * size.width;
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(d)));
  for (std::int64_t first = 0; first < size.sequence; first += kBlock) {
    const std::int64_t rows = std::min(kBlock, size.sequence - first), keys = first + rows;
    T* out = y + first * size.width;
    // scores [rows, keys] = q [rows, d] · kᵀ [d, keys]
    gemm<T>(rows, keys, d, row_major(q + first * packed, packed), row_major(k, packed).transposed(), scores,
            stride, Write::assign);
    T sums[kBlock];
    for (std::int64_t i = 0; i < rows; ++i) {
      T* row = scores + i * stride;
      const T shift = scale * largest(row, first + i + 1);
      sums[i] = exponentiate(row, first + i + 1, keys, scale, shift);
      lse[first + i] = shift + std::log(sums[i]);
    }
    // y [rows, d] = scores [rows, keys] · v [keys, d], then divided by the sums
    gemm<T>(rows, d, keys, row_major<T>(scores, stride), row_major(v, packed), out, size.width,
            Write::assign);
    for (std::int64_t i = 0; i < rows; ++i) {
      const T inverse = T(1) / sums[i];
      for (std::int64_t j = 0; j < d; ++j) out[i * size.width + j] *= inverse;
    }
  }
}

/// dqkv of one head. P = softmax(q·kᵀ), D = Σ y·dy by rows:
///   dV = Pᵀ·dY    dP = dY·Vᵀ    dS = P ∘ (dP − D)·scale    dQ = dS·K    dK = dSᵀ·Q
/// Blocks are taken from the last, which sees all keys and thus assigns dK and dV; the others add.
template <class T>
void backward_head(const AttentionSizes& size, const T* qkv, const T* y, const T* lse, const T* dy, T* dqkv,
                   T* scratch) {
  const std::int64_t d = size.head_size, width = size.width, packed = 3 * width,
                     stride = score_stride(size.sequence);
  const T *q = qkv, *k = qkv + width, *v = qkv + 2 * width;
  T *dq = dqkv, *dk = dqkv + width, *dv = dqkv + 2 * width;
  T *p = scratch, *ds = scratch + kBlock * stride;
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(d)));
  for (std::int64_t first = (size.sequence - 1) / kBlock * kBlock; first >= 0; first -= kBlock) {
    const std::int64_t rows = std::min(kBlock, size.sequence - first), keys = first + rows;
    const Write write = keys == size.sequence ? Write::assign : Write::add;
    const T *q_rows = q + first * packed, *dy_rows = dy + first * width;
    gemm<T>(rows, keys, d, row_major(q_rows, packed), row_major(k, packed).transposed(), p, stride,
            Write::assign);
    gemm<T>(rows, keys, d, row_major(dy_rows, width), row_major(v, packed).transposed(), ds, stride,
            Write::assign);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t row = first + i;
      exponentiate(p + i * stride, row + 1, keys, scale, lse[row]);
      Vec<T> products{};
      for_vectors<T>(0, d,
                     [&](auto at) { products += at.load(y + row * width) * at.load(dy + row * width); });
      const T row_sum = cpu::sum<T>(products);
      T *ds_row = ds + i * stride, *p_row = p + i * stride;
#pragma GCC ivdep
      for (std::int64_t j = 0; j < keys; ++j) ds_row[j] = p_row[j] * (ds_row[j] - row_sum) * scale;
    }
    const MatrixView<T> p_view = row_major<T>(p, stride), ds_view = row_major<T>(ds, stride);
    gemm<T>(rows, d, keys, ds_view, row_major(k, packed), dq + first * packed, packed, Write::assign);
    gemm<T>(keys, d, rows, ds_view.transposed(), row_major(q_rows, packed), dk, packed, write);
    gemm<T>(keys, d, rows, p_view.transposed(), row_major(dy_rows, width), dv, packed, write);
  }
}

}  // namespace

std::int64_t attention_scratch(const Context& context, const TensorSpec& qkv, std::int64_t) {
  return context.compute_threads() * 2 * kBlock * score_stride(qkv.shape[1]) *
         static_cast<std::int64_t>(size_of(qkv.dtype));
}

void attention_forward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                       const Tensor& lse, const Tensor& scratch) {
  const AttentionSizes s = sizes_of(qkv, heads);
  visit_floating(qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = qkv.as<T>();
    T *out = y.as<T>(), *sums = lse.as<T>();
    for_heads<T>(context, s, scratch, [&](std::int64_t b, std::int64_t h, T* scores) {
      forward_head(s, in + s.packed_offset(b, h), out + s.offset(b, h), sums + (b * heads + h) * s.sequence,
                   scores);
    });
  });
}

void attention_backward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                        const Tensor& lse, const Tensor& dy, const Tensor& dqkv, const Tensor& scratch) {
  const AttentionSizes s = sizes_of(qkv, heads);
  visit_floating(qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *in = qkv.as<T>(), *out = y.as<T>(), *sums = lse.as<T>(), *dout = dy.as<T>();
    T* din = dqkv.as<T>();
    for_heads<T>(context, s, scratch, [&](std::int64_t b, std::int64_t h, T* memory) {
      const std::int64_t packed = s.packed_offset(b, h), plain = s.offset(b, h);
      backward_head(s, in + packed, out + plain, sums + (b * heads + h) * s.sequence, dout + plain,
                    din + packed, memory);
    });
  });
}

}  // namespace tandem::ops::cpu

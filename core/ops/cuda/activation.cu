#include <algorithm>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/activation.h"
#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/vectors.cuh"

namespace tandem::ops::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 2;  // vectors, whose loads are all under way before the first is used

// gelu(x) = x/2 · (1 + tanh u) = x · σ(2u) with 2u = 2√(2/π)(x + 0.044715 x³): one exponential, and no
// cancellation where tanh is near −1.
constexpr float kSlope = 1.5957691216057308f;  // 2√(2/π)
constexpr float kCubic = 0.044715f;

__device__ inline float gelu_gate(float x) {
  return __fdividef(1.0f, 1.0f + __expf(x * (x * x * (-kSlope * kCubic) - kSlope)));
}

// What is made of an element; backward takes its output's gradient as well.
struct ReluForward {
  static constexpr bool kBackward = false;
  static __device__ float of(float x, float) {
    return x < 0 ? 0 : x;
  }  // a NaN passes, as it must to be found
};
struct ReluBackward {
  static constexpr bool kBackward = true;
  static __device__ float of(float x, float dy) { return x > 0 ? dy : 0; }
};
struct GeluForward {
  static constexpr bool kBackward = false;
  static __device__ float of(float x, float) { return x * gelu_gate(x); }
};
/// d/dx x·σ(2u) = σ + x·σ(1 − σ)·(2u)'
struct GeluBackward {
  static constexpr bool kBackward = true;
  static __device__ float of(float x, float dy) {
    const float gate = gelu_gate(x);
    return dy * (gate + x * gate * (1 - gate) * (x * x * (3 * kSlope * kCubic) + kSlope));
  }
};

/// out = Op(x, dy). `out` may be `x` or `dy`: each element is read and written by one thread. The elements
/// after the last whole vector are block 0's.
template <class Op, int N, class T>
__global__ void __launch_bounds__(kThreads) map_kernel(const T* x, const T* dy, T* out, std::int64_t count) {
  const std::int64_t vectors = count / N;
  const std::int64_t first = std::int64_t{blockIdx.x} * (kThreads * kPerThread) + threadIdx.x;
  Elements<T, N> in[kPerThread], gradient[kPerThread];
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) {
    const std::int64_t v = first + j * kThreads;
    if (v >= vectors) continue;
    in[j] = Elements<T, N>::load(x + v * N);
    if constexpr (Op::kBackward) gradient[j] = Elements<T, N>::load(dy + v * N);
  }
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) {
    const std::int64_t v = first + j * kThreads;
    if (v >= vectors) continue;
    Elements<T, N> result;
#pragma unroll
    for (int i = 0; i < N; ++i) result.set(i, Op::of(in[j][i], Op::kBackward ? gradient[j][i] : 0));
    result.store(out + v * N);
  }
  const std::int64_t rest = vectors * N + threadIdx.x;
  if (blockIdx.x == 0 && rest < count)
    out[rest] = from_float<T>(Op::of(to_float(x[rest]), Op::kBackward ? to_float(dy[rest]) : 0));
}

/// `dy` is empty in forward.
template <class Op>
void map(Context& context, const Tensor& x, const Tensor& dy, const Tensor& out) {
  const std::int64_t count = out.numel();
  if (count == 0) return;
  visit_device(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    visit_vectors<kPerVector<T>>(aligned(x.data(), dy.data(), out.data()), [&](auto n) {
      constexpr int N = decltype(n)::value;
      const auto blocks = std::max<std::int64_t>(1, ceil_div(count / N, kThreads * kPerThread));
      map_kernel<Op, N, T>
          <<<static_cast<unsigned>(blocks), kThreads, 0, tandem::cuda::stream_of(context.compute())>>>(
              static_cast<const T*>(x.data()), static_cast<const T*>(dy.data()), static_cast<T*>(out.data()),
              count);
      TANDEM_CUDA(cudaGetLastError());
    });
  });
}

}  // namespace

void activation_forward(Context& context, Activation activation, const Tensor& x, const Tensor& y) {
  if (activation == Activation::relu)
    map<ReluForward>(context, x, {}, y);
  else
    map<GeluForward>(context, x, {}, y);
}

void activation_backward(Context& context, Activation activation, const Tensor& x, const Tensor& dy,
                         const Tensor& dx) {
  if (activation == Activation::relu)
    map<ReluBackward>(context, x, dy, dx);
  else
    map<GeluBackward>(context, x, dy, dx);
}

}  // namespace tandem::ops::cuda

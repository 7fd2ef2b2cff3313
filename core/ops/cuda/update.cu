#include <cmath>

#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/vectors.cuh"
#include "core/ops/update.h"

namespace tandem::ops::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kN = 4;      // elements at a time: 16 bytes of what is f32
constexpr int kBatch = 2;  // that many times, all under way before the first is used

// A rule makes of a chunk's settings a Step, once for each block, and a Step is applied to an element: its
// gradient, its master copy and its state, kStates numbers.

template <bool kMomentum>
struct Sgd {
  static constexpr int kStates = kMomentum ? 1 : 0;
  struct Step {
    float grad_scale, decay, rate, momentum;
    bool first, nesterov;

    __device__ void apply(float grad, float& x, float* state) const {
      const float g = grad * grad_scale + decay * x;
      float change = g;
      if constexpr (kMomentum) {
        const float m =
            first ? g : momentum * state[0] + g;  // before the first step the buffer may hold a NaN
        state[0] = m;
        change = nesterov ? g + momentum * m : m;
      }
      x -= rate * change;
    }
  };

  float momentum;
  bool nesterov;

  __device__ Step step(const double* scalars, const Segment& chunk) const {
    return {static_cast<float>(scalars[kGradScale]),
            chunk.weight_decay,
            static_cast<float>(scalars[kLearningRate] * chunk.lr_scale),
            momentum,
            scalars[kStep] <= 1,
            nesterov};
  }
};

struct AdamW {
  static constexpr int kStates = 2;
  struct Step {
    float grad_scale, beta1, rest1, beta2, rest2, epsilon;
    float rate, kept, root_correction2;

    __device__ void apply(float grad, float& x, float* state) const {
      const float g = grad * grad_scale;
      state[0] = beta1 * state[0] + rest1 * g;
      state[1] = beta2 * state[1] + rest2 * g * g;
      x = kept * x - rate * state[0] / (sqrtf(state[1]) * root_correction2 + epsilon);
    }
  };

  float beta1, rest1, beta2, rest2, epsilon;
  double log_beta1, log_beta2;

  __device__ Step step(const double* scalars, const Segment& chunk) const {
    const double correction1 = -expm1(scalars[kStep] * log_beta1);  // 1 − beta1^t
    const double correction2 = -expm1(scalars[kStep] * log_beta2);
    const double lr = scalars[kLearningRate] * chunk.lr_scale;
    return {static_cast<float>(scalars[kGradScale]),
            beta1,
            rest1,
            beta2,
            rest2,
            epsilon,
            static_cast<float>(lr / correction1),
            static_cast<float>(1 - lr * chunk.weight_decay),
            static_cast<float>(1 / sqrt(correction2))};
  }
};

/// Flat memory. `value` is `master` where that is f32.
template <class V, class G, int kStates>
struct Flat {
  V* value;
  float* master;
  const G* grad;
  float* state[kStates > 0 ? kStates : 1];
};

/// Elements [at, at + N), [at + stride, …), … of those that lie before `end`.
template <int N, int kTimes, class Rule, class V, class G>
__device__ inline void update_at(const typename Rule::Step& step, const Flat<V, G, Rule::kStates>& flat,
                                 std::int64_t at, std::int64_t stride, std::int64_t end) {
  constexpr int kStates = Rule::kStates;
  Elements<G, N> grad[kTimes];
  Elements<float, N> x[kTimes], state[kTimes][kStates > 0 ? kStates : 1];
#pragma unroll
  for (int t = 0; t < kTimes; ++t) {
    const std::int64_t i = at + t * stride;
    if (i >= end) continue;
    grad[t] = Elements<G, N>::load(flat.grad + i);
    x[t] = Elements<float, N>::load(flat.master + i);
#pragma unroll
    for (int s = 0; s < kStates; ++s) state[t][s] = Elements<float, N>::load(flat.state[s] + i);
  }
#pragma unroll
  for (int t = 0; t < kTimes; ++t) {
    const std::int64_t i = at + t * stride;
    if (i >= end) continue;
    Elements<V, N> value;
#pragma unroll
    for (int n = 0; n < N; ++n) {
      float now[kStates > 0 ? kStates : 1];
#pragma unroll
      for (int s = 0; s < kStates; ++s) now[s] = state[t][s].at[n];
      step.apply(grad[t][n], x[t].at[n], now);
#pragma unroll
      for (int s = 0; s < kStates; ++s) state[t][s].at[n] = now[s];
      value.set(n, x[t].at[n]);
    }
    x[t].store(flat.master + i);
    if constexpr (!std::is_same_v<V, float>) value.store(flat.value + i);
#pragma unroll
    for (int s = 0; s < kStates; ++s) state[t][s].store(flat.state[s] + i);
  }
}

/// A block for each chunk. `vectors`: the flat tensors begin at addresses that suit them.
template <class Rule, class V, class G>
__global__ void __launch_bounds__(kThreads)
    update_kernel(const Rule rule, const double* scalars, const Segment* chunks,
                  const Flat<V, G, Rule::kStates> flat, bool vectors) {
  if (scalars[kSkip] != 0) return;
  __shared__ typename Rule::Step shared;
  const Segment chunk = chunks[blockIdx.x];
  if (threadIdx.x == 0) shared = rule.step(scalars, chunk);
  __syncthreads();
  const typename Rule::Step step = shared;
  const std::int64_t whole = vectors && chunk.offset % kN == 0 ? chunk.count / kN * kN : 0;
  const std::int64_t middle = chunk.offset + whole, end = chunk.offset + chunk.count;
  for (std::int64_t i = chunk.offset + threadIdx.x * kN; i < middle; i += kBatch * kThreads * kN)
    update_at<kN, kBatch, Rule>(step, flat, i, kThreads * kN, middle);
  for (std::int64_t i = middle + threadIdx.x; i < end; i += kThreads)
    update_at<1, 1, Rule>(step, flat, i, 0, end);
}

/// `states`: Rule::kStates of them.
template <class Rule>
void update(Context& context, const Rule& rule, const Tensor& scalars, const ChunkRange& range,
            const Tensor& value, const Tensor& master, const Tensor& grad,
            std::initializer_list<const Tensor*> states) {
  visit_gradient(value.dtype(), grad.dtype(), [&](auto v, auto g) {
    using V = decltype(v);
    using G = decltype(g);
    Flat<V, G, Rule::kStates> flat{
        static_cast<V*>(value.data()), master.as<float>(), static_cast<const G*>(grad.data()), {}};
    bool vectors = aligned(value.data(), master.data(), grad.data());
    for (int s = 0; const Tensor* state : states) {
      flat.state[s++] = state->as<float>();
      vectors = vectors && aligned(state->data());
    }
    require(!std::is_same_v<V, float> || value.data() == master.data(),
            "update: values of f32 are their own master copy: pass them as both");
    update_kernel<Rule, V, G>
        <<<static_cast<unsigned>(range.count), kThreads, 0, tandem::cuda::stream_of(context.compute())>>>(
            rule, scalars.as<double>(), range.table.device_chunks() + range.first, flat, vectors);
    TANDEM_CUDA(cudaGetLastError());
  });
}

}  // namespace

void sgd_update(Context& context, const SgdRule& rule, const Tensor& scalars, const ChunkRange& range,
                const Tensor& value, const Tensor& master, const Tensor& grad, const Tensor& momentum) {
  if (momentum)
    update(context, Sgd<true>{static_cast<float>(rule.momentum), rule.nesterov}, scalars, range, value,
           master, grad, {&momentum});
  else
    update(context, Sgd<false>{0, false}, scalars, range, value, master, grad, {});
}

void adamw_update(Context& context, const AdamWRule& rule, const Tensor& scalars, const ChunkRange& range,
                  const Tensor& value, const Tensor& master, const Tensor& grad, const Tensor& m,
                  const Tensor& v) {
  const AdamW adamw{static_cast<float>(rule.beta1),
                    static_cast<float>(1 - rule.beta1),
                    static_cast<float>(rule.beta2),
                    static_cast<float>(1 - rule.beta2),
                    static_cast<float>(rule.epsilon),
                    std::log(rule.beta1),  // −∞ for a beta of 0, whose correction is 1
                    std::log(rule.beta2)};
  update(context, adamw, scalars, range, value, master, grad, {&m, &v});
}

}  // namespace tandem::ops::cuda

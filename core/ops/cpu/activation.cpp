#include "core/ops/cpu/cpu_ops.h"
#include "core/ops/cpu/parallel.h"
#include "core/ops/cpu/simd.h"

namespace tandem::ops::cpu {

namespace {

constexpr std::int64_t kLeast = 1 << 14;  // elements for which a second thread pays

// gelu(x) = x/2 · (1 + tanh u) = x · σ(2u) with 2u = 2√(2/π)(x + 0.044715 x³): one exponential, and no
// cancellation where tanh is near −1.
constexpr double kSlope = 1.5957691216057308;  // 2√(2/π)
constexpr double kCubic = 0.044715;

template <class T>
Vec<T> gelu_gate(Vec<T> x) {
  const Vec<T> negative = x * (x * x * T(-kSlope * kCubic) + T(-kSlope));
  return T(1) / (T(1) + exp<T>(negative));
}

template <class T>
Vec<T> gelu(Vec<T> x) {
  return x * gelu_gate<T>(x);
}

/// d/dx x·σ(2u) = σ + x·σ(1 − σ)·(2u)'
template <class T>
Vec<T> gelu_derivative(Vec<T> x) {
  const Vec<T> gate = gelu_gate<T>(x);
  return gate + x * gate * (T(1) - gate) * (x * x * T(3 * kSlope * kCubic) + T(kSlope));
}

/// A NaN passes, as it must to be found.
template <class T>
Vec<T> relu(Vec<T> x) {
  return x < T(0) ? Vec<T>{} : x;
}

}  // namespace

void activation_forward(Context& context, Activation activation, const Tensor& x, const Tensor& y) {
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.as<T>();
    T* out = y.as<T>();
    parallel_for(context, x.numel(), kLanes<T>, kLeast, [&](std::int64_t begin, std::int64_t end) {
      if (activation == Activation::relu)
        for_vectors<T>(begin, end, [&](auto at) { at.store(out, relu<T>(at.load(in))); });
      else
        for_vectors<T>(begin, end, [&](auto at) { at.store(out, gelu<T>(at.load(in))); });
    });
  });
}

void activation_backward(Context& context, Activation activation, const Tensor& x, const Tensor& dy,
                         const Tensor& dx) {
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *in = x.as<T>(), *gradient = dy.as<T>();
    T* out = dx.as<T>();
    parallel_for(context, x.numel(), kLanes<T>, kLeast, [&](std::int64_t begin, std::int64_t end) {
      if (activation == Activation::relu)
        for_vectors<T>(begin, end,
                       [&](auto at) { at.store(out, at.load(in) > T(0) ? at.load(gradient) : Vec<T>{}); });
      else
        for_vectors<T>(begin, end,
                       [&](auto at) { at.store(out, at.load(gradient) * gelu_derivative<T>(at.load(in))); });
    });
  });
}

}  // namespace tandem::ops::cpu

#include "core/ops/activation.h"

#include "core/ops/cpu/parallel.h"
#include "core/ops/cpu/simd.h"

namespace tandem::ops {

namespace {

using cpu::Vec;

constexpr std::int64_t kLeast = 1 << 14;  // elements for which a second thread pays

// gelu(x) = x/2 · (1 + tanh u) = x · σ(2u) with 2u = 2√(2/π)(x + 0.044715 x³): one exponential, and no
// cancellation where tanh is near −1.
constexpr double kSlope = 1.5957691216057308;  // 2√(2/π)
constexpr double kCubic = 0.044715;

template <class T>
Vec<T> gelu_gate(Vec<T> x) {
  const Vec<T> negative = x * (x * x * T(-kSlope * kCubic) + T(-kSlope));
  return T(1) / (T(1) + cpu::exp<T>(negative));
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

void check_same(const Tensor& a, const Tensor& b) {
  require(a.numel() == b.numel() && a.dtype() == b.dtype(), "activation: {} {} and {} {} do not fit",
          name_of(a.dtype()), a.shape().str(), name_of(b.dtype()), b.shape().str());
}

}  // namespace

std::string_view name_of(Activation activation) {
  return activation == Activation::relu ? "relu" : "gelu";
}

void activation_forward(Context& context, Activation activation, const Tensor& x, const Tensor& y) {
  check_same(x, y);
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* in = x.as<T>();
    T* out = y.as<T>();
    cpu::parallel_for(context, x.numel(), cpu::kLanes<T>, kLeast, [&](std::int64_t begin, std::int64_t end) {
      if (activation == Activation::relu)
        cpu::for_vectors<T>(begin, end, [&](auto at) { at.store(out, relu<T>(at.load(in))); });
      else
        cpu::for_vectors<T>(begin, end, [&](auto at) { at.store(out, gelu<T>(at.load(in))); });
    });
  });
}

void activation_backward(Context& context, Activation activation, const Tensor& x, const Tensor& dy,
                         const Tensor& dx) {
  check_same(x, dy);
  check_same(x, dx);
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *in = x.as<T>(), *gradient = dy.as<T>();
    T* out = dx.as<T>();
    cpu::parallel_for(context, x.numel(), cpu::kLanes<T>, kLeast, [&](std::int64_t begin, std::int64_t end) {
      if (activation == Activation::relu)
        cpu::for_vectors<T>(
            begin, end, [&](auto at) { at.store(out, at.load(in) > T(0) ? at.load(gradient) : Vec<T>{}); });
      else
        cpu::for_vectors<T>(
            begin, end, [&](auto at) { at.store(out, at.load(gradient) * gelu_derivative<T>(at.load(in))); });
    });
  });
}

}  // namespace tandem::ops

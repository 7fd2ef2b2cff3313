#include <type_traits>

#include "core/base/float16.h"
#include "core/ops/cpu/cpu_ops.h"

namespace tandem::ops::cpu {

namespace {

template <class F>
void visit_stored(DType dtype, F&& f) {
  if (dtype == DType::bf16) return f(BFloat16{});
  if (dtype == DType::f16) return f(Float16{});
  visit_floating(dtype, f);
}

/// What a stored number is computed with.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class From, class To>
void convert_elements(const From* from, To* to, std::int64_t count, float factor) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<Wide<From>>(from[i]) * factor;
    to[i] = static_cast<To>(static_cast<Wide<To>>(x));
  }
}

}  // namespace

void convert(Context&, const Tensor& from, const Tensor& to, float factor) {
  visit_stored(from.dtype(), [&](auto in) {
    visit_stored(to.dtype(), [&](auto out) {
      convert_elements(from.as<decltype(in)>(), to.as<decltype(out)>(), from.numel(), factor);
    });
  });
}

void add_scaled(Context&, const Tensor& factor, const Tensor& value, const Tensor& to, Write write) {
  const double product = *factor.as<double>() * *value.as<double>();
  double& sum = *to.as<double>();
  sum = write == Write::add ? sum + product : product;
}

}  // namespace tandem::ops::cpu

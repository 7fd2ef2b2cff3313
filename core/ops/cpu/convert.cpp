#include <algorithm>

#include "core/ops/cpu/cpu_ops.h"

namespace tandem::ops::cpu {

void convert(Context&, const Tensor& from, const Tensor& to) {
  visit_floating(from.dtype(), [&](auto in) {
    visit_floating(to.dtype(), [&](auto out) {
      using From = decltype(in);
      using To = decltype(out);
      std::transform(from.as<From>(), from.as<From>() + from.numel(), to.as<To>(),
                     [](From x) { return static_cast<To>(x); });
    });
  });
}

void add_scaled(Context&, const Tensor& factor, const Tensor& value, const Tensor& to, Write write) {
  const double product = *factor.as<double>() * *value.as<double>();
  double& sum = *to.as<double>();
  sum = write == Write::add ? sum + product : product;
}

}  // namespace tandem::ops::cpu

#include "core/ops/cpu/cpu_ops.h"

namespace tandem::ops::cpu {

void axpy(Context&, double factor, const Tensor& x, const Tensor& y) {
  visit_floating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* __restrict from = x.as<T>();
    T* __restrict to = y.as<T>();
    const T scale = static_cast<T>(factor);
    for (std::int64_t i = 0; i < x.numel(); ++i) to[i] += scale * from[i];
  });
}

}  // namespace tandem::ops::cpu

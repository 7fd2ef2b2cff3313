#pragma once

#include <algorithm>
#include <cstdint>
#include <omp.h>

#include "core/device/context.h"

namespace tandem::ops::cpu {

/// Splits [0, count) among the context's compute threads and calls `body(begin, end)` on each share; shares
/// are multiples of `granule` and at least `least` long, so that small work stays on the calling thread. With
/// one thread it is a plain call. `body` must not throw.
template <class Body>
void parallel_for(const Context& context, std::int64_t count, std::int64_t granule, std::int64_t least,
                  Body&& body) {
  const std::int64_t threads =
      std::min<std::int64_t>(context.compute_threads(), count / std::max<std::int64_t>(least, 1));
  if (threads <= 1) return body(std::int64_t{0}, count);
  const std::int64_t granules = (count + granule - 1) / granule;
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    const std::int64_t thread = omp_get_thread_num(), team = omp_get_num_threads();
    const std::int64_t begin = granules * thread / team * granule;
    const std::int64_t end = std::min(granules * (thread + 1) / team * granule, count);
    if (begin < end) body(begin, end);
  }
}

}  // namespace tandem::ops::cpu

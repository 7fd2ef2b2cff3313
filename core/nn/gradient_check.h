#pragma once

#include <cstdint>
#include <string>

#include "core/nn/module.h"

namespace tandem {

struct GradientCheckOptions {
  double step = 1e-5;            ///< of the central difference
  double tolerance = 1e-6;       ///< on |analytic − numeric| / max(1, |analytic|, |numeric|)
  std::uint64_t seed = 1;        ///< of inputs, parameters and the random projection of the output
  std::int64_t max_probes = 64;  ///< per tensor; elements beyond are sampled
  std::int64_t vocabulary = 0;   ///< > 0: the input is i32 ids below this, and has no gradient
};

struct GradientCheckResult {
  bool passed = false;
  double worst_error = 0;
  std::string worst_place;  ///< "weight[17]": where it is, with both values
};

/// Compares backward with central finite differences in double precision, for the input and every parameter:
/// the loss is a fixed random projection of the output. The module must be new (its parameters unbound);
/// their dtype is set to f64 here. Also checks that the first gradient write assigns and a second backward
/// adds, that every parameter announces itself exactly `uses` times, that forward takes values by read(),
/// that freezing any one parameter (after planning: modules ask `frozen` in backward) leaves its gradient
/// alone and changes no other, and that the input is not changed. Source: the usual (f(x + h) − f(x − h)) /
/// 2h.
GradientCheckResult check_gradients(Module& module, const Shape& input,
                                    const GradientCheckOptions& options = {});

}  // namespace tandem

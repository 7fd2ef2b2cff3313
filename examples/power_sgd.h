#pragma once

#include <cstdint>
#include <memory>

#include "ddp/comm_hook.h"

namespace tandem {

/// An example of a communication hook with state: PowerSGD (Vogels, Karimireddy, Jaggi, "PowerSGD: practical
/// low-rank gradient compression for distributed optimization", NeurIPS 2019).
///
/// A matrix gradient M [n, m] of each rank travels as two thin ones: with Q [m, r] from the step before,
///
///     M ← M + error                            what earlier steps left out
///     P ← Σ over ranks of M Q                  n·r numbers
///     P ← orthonormal columns
///     Q ← Σ over ranks of Mᵀ P                 m·r numbers; the next step starts from it
///     gradient ← P Qᵀ,  error ← M − gradient/ranks
///
/// so n·m numbers become (n + m)·r. One such iteration a step finds the r largest directions of the
/// gradients' sum, because gradients change slowly; a sum of rank r or less is exact at once. Vectors, and
/// matrices that this would not make at most half as large, travel as they are, together with the bucket's
/// Ps: two all-reduces a bucket. It takes fp32 gradients.
struct PowerSgdOptions {
  std::int64_t rank = 2;   ///< r; less where a matrix has fewer rows or columns
  std::uint64_t seed = 0;  ///< of the first step's Q, which all ranks draw alike
};

std::unique_ptr<CommHook> make_power_sgd(const PowerSgdOptions& options);

}  // namespace tandem

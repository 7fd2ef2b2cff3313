#pragma once

#include <cstdint>
#include <span>

#include "core/device/context.h"
#include "core/tensor/tensor.h"

namespace tandem::ops {

/// A run of elements of a flat slice that belong to one parameter; what lies between segments is padding and
/// is not touched.
struct Segment {
  std::int64_t offset, count;  ///< in elements, from the start of the flat memory
  float lr_scale;              ///< multiplies the learning rate
  float weight_decay;          ///< 0 where the parameter does not decay
};

struct SgdStep {
  double lr, momentum;
  bool nesterov;
  bool first;         ///< the momentum buffer is set, not decayed (as PyTorch)
  double grad_scale;  ///< multiplies the gradient: 1, or less when clipping
};

/// g = grad·grad_scale + weight_decay·value; m = first ? g : momentum·m + g; value −= lr·lr_scale·(nesterov ?
/// g + momentum·m : m). `value`, `grad`, `momentum` are whole flat tensors; only `segments` are updated. An
/// empty momentum tensor is plain SGD. Source: Sutskever et al. 2013, in PyTorch's form.
void sgd_update(Context& context, const SgdStep& step, std::span<const Segment> segments, const Tensor& value,
                const Tensor& grad, const Tensor& momentum);

struct AdamWStep {
  double lr, beta1, beta2, epsilon;
  double correction1, correction2;  ///< 1 − beta1^t, 1 − beta2^t
  double grad_scale;
};

/// AdamW with decoupled decay (Loshchilov & Hutter 2019): value −= lr·lr_scale·(weight_decay·value + m̂/(√v̂ +
/// ε)).
void adamw_update(Context& context, const AdamWStep& step, std::span<const Segment> segments,
                  const Tensor& value, const Tensor& grad, const Tensor& m, const Tensor& v);

/// sums[i] (f64) = Σ grad² over segment i, in fixed chunks in fp64, so that it depends on neither buckets nor
/// threads.
void sum_of_squares(Context& context, std::span<const Segment> segments, const Tensor& grad,
                    std::span<double> sums);

}  // namespace tandem::ops

#pragma once

#include <vector>

#include "core/nn/parameter_store.h"
#include "core/ops/update.h"
#include "core/tensor/arena.h"

namespace tandem {

/// ‖gradient‖₂ over all parameters of the store: partial sums over chunks of parameters in fp64, added in
/// definition order, so that the norm does not depend on layout, buckets or ranks. Frozen parameters have no
/// part in it.
class GradientNorm {
 public:
  GradientNorm(Context& context, const ParameterStore& store);
  GradientNorm(const GradientNorm&) = delete;
  GradientNorm& operator=(const GradientNorm&) = delete;
  virtual ~GradientNorm() = default;

  /// Puts the norm of the gradients that the compute stream has written so far into value(), in the order of
  /// that stream. Allocates nothing.
  virtual void compute();
  const Tensor& value() const { return norm_; }  ///< [1] f64, in device memory

 protected:
  /// `segments`: what is summed of `grads`; all ranks give as many of the same sizes, or empty ones.
  GradientNorm(Context& context, const Tensor& grads, const std::vector<ops::Segment>& segments);

  Context& context() { return *context_; }
  const Tensor& sums() const { return sums_; }  ///< [chunks] f64, Σ grad² of each
  void sum_chunks();
  void add_sums();

 private:
  Context* context_;
  Tensor grads_;             // [layout.numel()]
  ops::SegmentTable table_;  // in definition order
  Arena memory_;
  Tensor sums_, norm_;
};

}  // namespace tandem

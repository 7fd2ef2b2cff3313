#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/nn/parameter_store.h"
#include "core/ops/update.h"

namespace tandem {

/// Updates flat slices of a ParameterStore. One step:  start_step(lr, grad_scale);  update_slice(…) for
/// slices that together cover the layout once (DDP's buckets as they arrive, or all at once).
///
/// State (momentum, moments) lies in memory of its own with the store's layout. Which parameter decays and
/// how it scales the learning rate is noted when the optimizer is made; frozen parameters lie outside the
/// layout and stay as they are. Works on the compute stream; a step allocates nothing.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// `grad_scale` multiplies every gradient (clipping).
  void start_step(double lr, double grad_scale = 1.0);
  /// Updates the parameters that lie in elements [offset, offset + numel) of the layout. Throws ContractError
  /// if one straddles its ends, or before the first start_step().
  void update_slice(std::int64_t offset, std::int64_t numel);
  void update_all();

  std::int64_t steps() const { return steps_; }  ///< started so far
  /// Bytes of optimizer state for the layout: 0, 1 or 2 values per element.
  std::int64_t state_bytes() const;

 protected:
  /// `states`: how many values of state each element has.
  Optimizer(Context& context, const ParameterStore& store, double weight_decay, int states);

  Context& context() { return *context_; }
  const Tensor& values() const { return values_; }           ///< [layout.numel()]
  const Tensor& grads() const { return grads_; }             ///< [layout.numel()]
  const Tensor& state(int i) const { return state_.at(i); }  ///< [layout.numel()], zero at first
  double lr() const { return lr_; }
  double grad_scale() const { return grad_scale_; }

 private:
  /// The rule, for some of the segments.
  virtual void update(std::span<const ops::Segment> segments) = 0;

  Context* context_;
  Tensor values_, grads_;
  std::vector<ops::Segment> segments_;  // sorted by offset
  Arena memory_;
  std::vector<Tensor> state_;
  std::int64_t steps_ = 0;
  double lr_ = 0, grad_scale_ = 1;
};

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
};

/// SGD with momentum as PyTorch has it (see ops::sgd_update). Throws UsageError for a momentum outside
/// [0, 1), Nesterov without momentum, or a weight decay that is negative or not finite.
std::unique_ptr<Optimizer> make_sgd(Context& context, ParameterStore& store, const SgdOptions& options);

/// AdamW with decoupled decay (see ops::adamw_update). Throws UsageError for betas outside [0, 1), an epsilon
/// that is not above 0, or a weight decay that is negative or not finite.
std::unique_ptr<Optimizer> make_adamw(Context& context, ParameterStore& store, const AdamWOptions& options);

}  // namespace tandem

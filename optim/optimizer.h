#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/nn/parameter_store.h"
#include "core/ops/update.h"
#include "core/tensor/staged_scalars.h"
#include "optim/clip.h"
#include "optim/loss_scale.h"

namespace tandem {

/// Updates flat slices of a ParameterStore. One step:  start_step(lr);  clip(…) if gradients are clipped;
/// update_slice(…) for slices that together cover the layout once (DDP's buckets as they arrive, or all at
/// once).
///
/// An optimizer may own parts of the layout alone (ZeRO-1: each rank a share of every bucket): it has state
/// for them, and leaves everything else as it is.
///
/// State (momentum, moments) lies in memory of its own, for what is owned; f32 masters, where the model
/// computes in a shorter type, in the store's. Which parameter decays and how it scales the learning rate is
/// noted when the optimizer is made; frozen parameters lie outside the layout and stay as they are. Works on
/// the compute stream; a step allocates nothing. What changes from step to step is sent by start_step(), so
/// that the rest of a step can be captured and replayed.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  void start_step(double lr);
  /// Scales this step's gradients to a norm of at most `max_norm` (PyTorch's clip_grad_norm_). `norm` has
  /// been computed.
  void clip(const GradientNorm& norm, double max_norm);
  /// Before clip(), where the loss was scaled: takes the scale out of gradients and `norm`; where the norm is
  /// not finite, this step's updates change nothing, and the scale shrinks.
  void unscale(const GradientNorm& norm, const LossScale& loss_scale);
  /// Updates what is owned of elements [offset, offset + numel) of the layout. Throws ContractError if a
  /// chunk of a parameter straddles its ends, or before the first start_step().
  void update_slice(std::int64_t offset, std::int64_t numel);
  void update_all();

  std::int64_t steps() const { return steps_; }  ///< started so far, skipped ones included
  /// Bytes of optimizer state: 0, 1 or 2 values per element that is owned.
  std::int64_t state_bytes() const { return state_bytes_; }

 protected:
  static constexpr int kMostStates = 2;
  /// Flat memory of one part of the layout, all of one length.
  struct Flat {
    Tensor values, masters, grads;          ///< masters: f32, or the values
    std::array<Tensor, kMostStates> state;  ///< as the masters, zero at first; empty where the rule has less
  };

  /// `states`: how many values of state each element has. `owned`: parts that do not overlap, sorted; none
  /// means the whole layout.
  Optimizer(Context& context, const ParameterStore& store, double weight_decay, int states,
            std::span<const LayoutRange> owned);

  Context& context() { return *context_; }
  const Tensor& scalars() const { return scalars_.device(); }

 private:
  /// The rule, for some chunks of a part.
  virtual void update(const Flat& flat, const ops::ChunkRange& chunks) = 0;

  struct Part {
    LayoutRange range;
    ops::SegmentTable table;  // of what lies in the part, offsets from its start
    Flat flat;
  };
  void bind_state(Arena& arena, int states);

  Context* context_;
  std::vector<Part> parts_;
  Arena memory_;
  std::int64_t state_bytes_ = 0;
  StagedScalars scalars_;  // ops::StepScalar
  std::int64_t steps_ = 0;
};

/// Throws UsageError unless a limit for the gradient norm is finite and above 0.
void check_clip(double max_norm);

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
std::unique_ptr<Optimizer> make_sgd(Context& context, ParameterStore& store, const SgdOptions& options,
                                    std::span<const LayoutRange> owned = {});

/// AdamW with decoupled decay (see ops::adamw_update). Throws UsageError for betas outside [0, 1), an epsilon
/// that is not above 0, or a weight decay that is negative or not finite.
std::unique_ptr<Optimizer> make_adamw(Context& context, ParameterStore& store, const AdamWOptions& options,
                                      std::span<const LayoutRange> owned = {});

}  // namespace tandem

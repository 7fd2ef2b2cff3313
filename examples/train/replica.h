#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/comm/world.h"
#include "core/tensor/planned_memory.h"
#include "ddp/bucket_plan.h"
#include "ddp/comm_hook.h"
#include "examples/train/setup.h"
#include "models/loss.h"
#include "optim/clip.h"
#include "optim/optimizer.h"

namespace tandem::train {

/// Bytes of one rank, as planned.
struct MemoryTable {
  std::int64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0, scratch = 0, bucket_copies = 0,
               communication = 0, batches = 0;
  std::int64_t total() const {
    return parameters + gradients + optimizer + activations + scratch + bucket_copies + communication +
           batches;
  }
};

/// What the options say of buckets.
BucketOptions bucket_options(const Options& options);

/// The model without memory, and the plan of its gradients. Enough for --dry-run, and for a model of any
/// size.
struct Blueprint {
  Blueprint(const Context& context, const Setup& setup);

  std::unique_ptr<Module> model;
  BucketPlan plan;  ///< without DDP: no buckets, and a layout in definition order
  std::unique_ptr<CommHook> hook;
  MemoryTable memory;
};

/// One rank's copy of the model, with all memory that training it takes. Its values are drawn, the same on
/// all ranks, or with --init read by rank 0; replicate() makes them all ranks'.
class Replica {
 public:
  Replica(Context& context, const Setup& setup, Blueprint blueprint);

  /// The model's output for a batch's inputs, brought to the type that the model computes in.
  Tensor forward(Context& context, const Tensor& inputs);

  /// Whether a step's update needs the norm of all gradients first.
  bool needs_norm(double clip) const { return clip > 0 || loss_scale; }

 private:
  Blueprint blueprint_;

 public:
  Module& model;
  const BucketPlan& plan;
  CommHook& hook;
  ParameterStore store;
  CrossEntropyLoss loss;
  std::unique_ptr<Optimizer> optimizer;
  GradientNorm gradient_norm;
  std::optional<LossScale> loss_scale;  ///< where gradients are fp16 or come from it

 private:
  Tensor converted_;  // the inputs in the model's type, where the data's is another
  PlannedMemory memory_;
};

}  // namespace tandem::train

#pragma once

#include <cstdint>
#include <optional>

#include "core/device/context.h"
#include "core/tensor/staged_scalars.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// Softmax cross-entropy over the last dimension of logits [.., classes] against targets [..] i32; −1 marks a
/// row that does not count. Sums, never means: the seed divides.
class CrossEntropyLoss {
 public:
  /// `classes`: columns of the logits that count, where the last ones are padding; by default all.
  explicit CrossEntropyLoss(Context& context, std::optional<std::int64_t> classes = {});

  /// 1/N for the calls from here on: N = the targets that count, over all ranks and micro-batches of the
  /// optimizer step.
  void set_seed(double seed);
  /// [1] f64 in device memory: what gradients are multiplied by beside the seed (a loss scale).
  void set_scale(const Tensor& scale);

  /// Loss and hits alone, for evaluation.
  void forward(const Tensor& logits, const Tensor& targets);
  /// Also overwrites the logits with scale · seed · ∂loss_sum/∂logits, and adds seed · loss_sum to share().
  void forward_backward(const Tensor& logits, const Tensor& targets);

  /// An optimizer step begins: share() counts from zero.
  void start_accumulation() { accumulating_ = false; }
  /// This rank's share of the mean loss of the step, so far: [1] f64 in device memory.
  const Tensor& share() const { return share_; }

  struct Result {
    double loss_sum = 0;       ///< nats
    std::int64_t correct = 0;  ///< rows whose largest logit is the target
  };
  /// Of the last call. Blocks the host until the compute stream has got there.
  Result read();

 private:
  Context* context_;
  std::optional<std::int64_t> classes_;
  StagedScalars seed_;
  Arena memory_, staging_memory_;
  Tensor scale_;                             // empty: 1
  Tensor loss_sum_, correct_, share_;        // [1] each: f64, i64, f64
  Tensor scaled_seed_;                       // [1] f64
  Tensor staged_loss_sum_, staged_correct_;  // the same in staging memory
  bool accumulating_ = false;
};

}  // namespace tandem

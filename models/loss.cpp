#include "models/loss.h"

#include "core/ops/cross_entropy.h"

namespace tandem {

void CrossEntropyLoss::plan(MemoryPlan& memory) {
  seed_ = memory.saved.allocate(DType::f64, {1});
  loss_sum_ = memory.saved.allocate(DType::f64, {1});
  correct_ = memory.saved.allocate(DType::i64, {1});
}

void CrossEntropyLoss::forward(Context& context, const Tensor& logits, const Tensor& targets) {
  ops::cross_entropy_forward(context, logits, targets, loss_sum_, correct_);
}

void CrossEntropyLoss::forward_backward(Context& context, const Tensor& logits, const Tensor& targets,
                                        double seed) {
  *seed_.as<double>() = seed;
  ops::cross_entropy_forward_backward(context, logits, targets, seed_, loss_sum_, correct_);
}

}  // namespace tandem

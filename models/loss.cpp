#include "models/loss.h"

#include "core/ops/convert.h"
#include "core/ops/cross_entropy.h"
#include "core/tensor/copy.h"

namespace tandem {

CrossEntropyLoss::CrossEntropyLoss(Context& context, std::optional<std::int64_t> classes)
    : context_(&context),
      classes_(classes),
      seed_(context, 1),
      memory_(context, 4 * Arena::kAlignment),
      staging_memory_(context, 2 * Arena::kAlignment, DeviceMemory::Kind::staging),
      loss_sum_(memory_.allocate(DType::f64, {1})),
      correct_(memory_.allocate(DType::i64, {1})),
      share_(memory_.allocate(DType::f64, {1})),
      scaled_seed_(memory_.allocate(DType::f64, {1})),
      staged_loss_sum_(staging_memory_.allocate(DType::f64, {1})),
      staged_correct_(staging_memory_.allocate(DType::i64, {1})) {}

void CrossEntropyLoss::set_seed(double seed) {
  seed_.send({&seed, 1});
}

void CrossEntropyLoss::set_scale(const Tensor& scale) {
  scale_ = scale;
}

void CrossEntropyLoss::forward(const Tensor& logits, const Tensor& targets) {
  ops::cross_entropy_forward(*context_, logits, classes_.value_or(logits.last()), targets, loss_sum_,
                             correct_);
}

void CrossEntropyLoss::forward_backward(const Tensor& logits, const Tensor& targets) {
  if (scale_) ops::add_scaled(*context_, seed_.device(), scale_, scaled_seed_, Write::assign);
  ops::cross_entropy_forward_backward(*context_, logits, classes_.value_or(logits.last()), targets,
                                      scale_ ? scaled_seed_ : seed_.device(), loss_sum_, correct_);
  ops::add_scaled(*context_, seed_.device(), loss_sum_, share_, accumulating_ ? Write::add : Write::assign);
  accumulating_ = true;
}

CrossEntropyLoss::Result CrossEntropyLoss::read() {
  copy(context_->compute(), loss_sum_, staged_loss_sum_);
  copy(context_->compute(), correct_, staged_correct_);
  context_->compute().synchronize();
  return {*staged_loss_sum_.as<double>(), *staged_correct_.as<std::int64_t>()};
}

}  // namespace tandem

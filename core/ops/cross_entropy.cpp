#include "core/ops/cross_entropy.h"

#include "core/ops/op_table.h"

namespace tandem::ops {

namespace {

void check(const Tensor& logits, std::int64_t classes, const Tensor& targets, const Tensor& loss_sum,
           const Tensor& correct) {
  require(loss_sum.dtype() == DType::f64 && loss_sum.numel() == 1 && correct.dtype() == DType::i64 &&
              correct.numel() == 1,
          "cross entropy: loss {} {} and hits {} {}", name_of(loss_sum.dtype()), loss_sum.shape().str(),
          name_of(correct.dtype()), correct.shape().str());
  require(targets.numel() == logits.rows() && classes > 0 && classes <= logits.last(),
          "cross entropy: logits {} of {} classes and targets {} do not fit", logits.shape().str(), classes,
          targets.shape().str());
}

}  // namespace

void cross_entropy_forward(Context& context, const Tensor& logits, std::int64_t classes,
                           const Tensor& targets, const Tensor& loss_sum, const Tensor& correct) {
  check(logits, classes, targets, loss_sum, correct);
  table_of(context).cross_entropy_forward(context, logits, classes, targets, loss_sum, correct);
}

void cross_entropy_forward_backward(Context& context, const Tensor& logits, std::int64_t classes,
                                    const Tensor& targets, const Tensor& seed, const Tensor& loss_sum,
                                    const Tensor& correct) {
  check(logits, classes, targets, loss_sum, correct);
  table_of(context).cross_entropy_forward_backward(context, logits, classes, targets, seed, loss_sum,
                                                   correct);
}

}  // namespace tandem::ops

#include "core/ops/attention.h"

#include "core/ops/op_table.h"

namespace tandem::ops {

namespace {

void check(const Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y, const Tensor& lse,
           const Tensor& scratch) {
  require(y.shape().rank() == 3 && qkv.shape() == y.shape().with_last(3 * y.last()) && heads > 0 &&
              y.last() % heads == 0,
          "attention: qkv {}, y {} and {} heads do not fit", qkv.shape().str(), y.shape().str(), heads);
  require(
      lse.shape() == Shape{y.shape()[0], heads, y.shape()[1]} && lse.dtype() == accumulator_of(qkv.dtype()),
      "attention: lse is {} {}", name_of(lse.dtype()), lse.shape().str());
  require(scratch.bytes() >= attention_scratch(context, qkv.spec(), heads),
          "attention: scratch of {} bytes is too small", scratch.bytes());
}

}  // namespace

std::int64_t attention_scratch(const Context& context, const TensorSpec& qkv, std::int64_t heads) {
  return table_of(context).attention_scratch(context, qkv, heads);
}

void attention_forward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                       const Tensor& lse, const Tensor& scratch) {
  check(context, qkv, heads, y, lse, scratch);
  table_of(context).attention_forward(context, qkv, heads, y, lse, scratch);
}

void attention_backward(Context& context, const Tensor& qkv, std::int64_t heads, const Tensor& y,
                        const Tensor& lse, const Tensor& dy, const Tensor& dqkv, const Tensor& scratch) {
  check(context, qkv, heads, y, lse, scratch);
  require(dy.shape() == y.shape() && dqkv.shape() == qkv.shape(), "attention: dy {} and dqkv {} do not fit",
          dy.shape().str(), dqkv.shape().str());
  table_of(context).attention_backward(context, qkv, heads, y, lse, dy, dqkv, scratch);
}

}  // namespace tandem::ops

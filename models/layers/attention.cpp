#include "models/layers/attention.h"

#include "core/ops/attention.h"

namespace tandem {

TensorSpec CausalAttention::plan(MemoryPlan& memory, const TensorSpec& input) {
  require(input.shape.rank() == 3 && input.shape.last() % (3 * heads_) == 0,
          "attention with {} heads does not take {}", heads_, input.shape.str());
  const std::int64_t B = input.shape[0], T = input.shape[1], width = input.shape[2] / 3;
  y_ = memory.saved.allocate(input.dtype, {B, T, width});
  lse_ = memory.saved.allocate(accumulator_of(input.dtype), {B, heads_, T});
  dqkv_ = input_gradient_ ? memory.saved.allocate(input) : Tensor();
  const auto temporary = memory.scratch.scope();
  work_ = memory.scratch.allocate(DType::u8, {ops::attention_scratch(memory.context, input, heads_)});
  return y_.spec();
}

Tensor CausalAttention::forward(Context& context, const Tensor& qkv) {
  qkv_ = qkv;
  ops::attention_forward(context, qkv, heads_, y_, lse_, work_);
  return y_;
}

Tensor CausalAttention::backward(Context& context, const Tensor& dy, GradientSink&) {
  if (dqkv_) backward_into(context, dy, dqkv_);
  return dqkv_;
}

void CausalAttention::backward_into(Context& context, const Tensor& dy, const Tensor& dqkv) {
  ops::attention_backward(context, qkv_, heads_, y_, lse_, dy, dqkv, work_);
}

}  // namespace tandem

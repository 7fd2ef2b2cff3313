#include "models/layers/block.h"

#include "core/ops/activation.h"

namespace tandem {

Block::Block(const std::string& name, std::int64_t width, std::int64_t heads, double stddev,
             double residual_stddev)
    : ln_1_(name + ".ln_1", width),
      c_attn_(name + ".attn.c_attn", width, 3 * width, Init::normal(stddev), Init::zeros()),
      attention_(heads),
      attn_c_proj_(name + ".attn.c_proj", width, width, Init::normal(residual_stddev), Init::zeros()),
      ln_2_(name + ".ln_2", width),
      c_fc_(name + ".mlp.c_fc", width, 4 * width, Init::normal(stddev), Init::zeros()),
      mlp_c_proj_(name + ".mlp.c_proj", 4 * width, width, Init::normal(residual_stddev), Init::zeros()) {
  // Their input gradients lie in the scratch memory that all blocks share.
  for (Module* layer : std::initializer_list<Module*>{&ln_1_, &c_attn_, &attention_, &ln_2_})
    layer->set_input_gradient(false);
}

ParameterList Block::parameters() {
  return parameters_of({&ln_1_, &c_attn_, &attn_c_proj_, &ln_2_, &c_fc_, &mlp_c_proj_});
}

TensorSpec Block::plan(MemoryPlan& memory, const TensorSpec& input) {
  y_ = memory.saved.allocate(input);
  if (recompute_ == Recompute::block) {
    // What lies above y_ is free again for the blocks to come: they are through with backward when this one
    // computes it once more.
    const auto inside = memory.saved.scope();
    plan_inside(memory, input);
  } else {
    plan_inside(memory, input);
  }
  return input;
}

void Block::plan_inside(MemoryPlan& memory, const TensorSpec& input) {
  const auto temporaries = memory.scratch.scope();
  d_narrow_ = memory.scratch.allocate(input);
  {
    const auto branch = memory.scratch.scope();
    const TensorSpec qkv = c_attn_.plan(memory, ln_1_.plan(memory, input));
    d_qkv_ = memory.scratch.allocate(qkv);
    attention_.plan(memory, qkv);
    h_ = memory.saved.allocate(input);
  }
  {
    const auto branch = memory.scratch.scope();
    const TensorSpec hidden = c_fc_.output(ln_2_.plan(memory, input));
    pre_gelu_ = memory.saved.allocate(hidden);
    hidden_ = (recompute_ == Recompute::none ? memory.saved : memory.scratch).allocate(hidden);
    d_hidden_ = memory.scratch.allocate(hidden);
  }
}

Tensor Block::forward(Context& context, const Tensor& x) {
  x_ = x;
  forward_inside(context, x);
  mlp_c_proj_.forward_into(context, hidden_, /*addend=*/h_, y_);
  return y_;
}

void Block::forward_inside(Context& context, const Tensor& x) {
  const Tensor qkv = c_attn_.forward(context, ln_1_.forward(context, x));
  attn_c_proj_.forward_into(context, attention_.forward(context, qkv), /*addend=*/x, h_);
  c_fc_.forward_gelu_into(context, ln_2_.forward(context, h_), pre_gelu_, hidden_);
}

Tensor Block::backward(Context& context, const Tensor& d_stream, GradientSink& sink) {
  if (recompute_ == Recompute::block) forward_inside(context, x_);
  if (recompute_ == Recompute::gelu)
    ops::activation_forward(context, ops::Activation::gelu, pre_gelu_, hidden_);
  mlp_c_proj_.backward_gelu_into(context, d_stream, pre_gelu_, d_hidden_, sink);
  c_fc_.backward_into(context, d_hidden_, d_narrow_, Write::assign, sink);
  ln_2_.backward_into(context, d_narrow_, d_stream, Write::add, sink);

  attn_c_proj_.backward_into(context, d_stream, d_narrow_, Write::assign, sink);
  attention_.backward_into(context, d_narrow_, d_qkv_);
  c_attn_.backward_into(context, d_qkv_, d_narrow_, Write::assign, sink);
  ln_1_.backward_into(context, d_narrow_, d_stream, Write::add, sink);
  return d_stream;
}

}  // namespace tandem

#include "models/gpt.h"

#include <cmath>

#include "core/ops/linear.h"

namespace tandem {

namespace {

constexpr double kStddev = 0.02;

}  // namespace

Gpt::Gpt(const GptConfig& config)
    : embedding_("wte", "wpe", config.padded_vocabulary(), config.sequence, config.width,
                 Init::normal(kStddev)),
      ln_f_("ln_f", config.width) {
  require(config.heads >= 1 && config.width % config.heads == 0, "{} heads do not divide a width of {}",
          config.heads, config.width);
  const double residual_stddev = kStddev / std::sqrt(2.0 * static_cast<double>(config.layers));
  for (std::int64_t i = 0; i < config.layers; ++i)
    blocks_.push_back(std::make_unique<Block>("h." + std::to_string(i), config.width, config.heads, kStddev,
                                              residual_stddev));
  // The last block is the first in backward: what it kept is still there.
  for (auto& block : blocks_)
    if (config.recompute != Recompute::block || block != blocks_.back())
      block->set_recompute(config.recompute);
  embedding_.table().uses = 2;
  ln_f_.set_input_gradient(false);  // it is written to d_stream_
}

ParameterList Gpt::parameters() {
  std::vector<Module*> layers = {&embedding_};
  for (const auto& block : blocks_) layers.push_back(block.get());
  layers.push_back(&ln_f_);
  return parameters_of(layers);
}

TensorSpec Gpt::plan(MemoryPlan& memory, const TensorSpec& input) {
  const TensorSpec stream = embedding_.plan(memory, input);  // [B, T, width]
  logits_ = memory.saved.allocate(stream.dtype, stream.shape.with_last(embedding_.table().shape[0]));
  d_stream_ = memory.saved.allocate(stream);
  ln_f_.plan(memory, stream);
  for (const auto& block : blocks_) block->plan(memory, stream);  // last: see Block::plan
  return logits_.spec();
}

Tensor Gpt::forward(Context& context, const Tensor& ids) {
  Tensor x = embedding_.forward(context, ids);
  for (const auto& block : blocks_) x = block->forward(context, x);
  normed_ = ln_f_.forward(context, x);
  ops::linear_forward(context, normed_, embedding_.table().read(), /*bias=*/{}, /*addend=*/{}, logits_);
  return logits_;
}

Tensor Gpt::backward(Context& context, const Tensor& dlogits, GradientSink& sink) {
  Parameter& table = embedding_.table();
  if (!table.frozen) {
    ops::linear_backward_weight(context, dlogits, normed_, table.grad, table.next_grad_write());
    sink.ready(table);
  }
  ops::linear_backward_input(context, dlogits, table.value, d_stream_);
  ln_f_.backward_into(context, d_stream_, d_stream_, Write::assign, sink);
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
    (*block)->backward(context, d_stream_, sink);
  return embedding_.backward(context, d_stream_, sink);
}

}  // namespace tandem

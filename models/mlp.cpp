#include "models/mlp.h"

namespace tandem {

Mlp::Mlp(const MlpConfig& config) {
  require(config.sizes.size() >= 2, "an MLP needs an input and an output size, not {} sizes",
          config.sizes.size());
  for (std::size_t i = 0; i + 1 < config.sizes.size(); ++i) {
    if (i > 0) {
      auto activation = std::make_unique<Activation>(config.activation);
      activation->set_in_place(true);
      layers_.push_back(std::move(activation));
    }
    layers_.push_back(
        std::make_unique<Linear>("layers." + std::to_string(i), config.sizes[i], config.sizes[i + 1]));
  }
}

TensorSpec Mlp::plan(MemoryPlan& memory, const TensorSpec& input) {
  layers_.front()->set_input_gradient(input_gradient_);
  TensorSpec x = input;
  for (const auto& layer : layers_) x = layer->plan(memory, x);
  return x;
}

Tensor Mlp::forward(Context& context, const Tensor& x) {
  Tensor y = x;
  for (const auto& layer : layers_) y = layer->forward(context, y);
  return y;
}

Tensor Mlp::backward(Context& context, const Tensor& dy, GradientSink& sink) {
  Tensor d = dy;
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer)
    d = (*layer)->backward(context, d, sink);
  return d;
}

}  // namespace tandem

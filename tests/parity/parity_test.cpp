// Twenty training steps from the weights and batches that PyTorch had: the same losses.
//
// Tolerance of losses and parameter norms: 1e-4 relative. Rounding alone (sums in another order) moves
// PyTorch's own fp32 losses by up to 3e-6 from its fp64 losses over these steps (`fp32_from_fp64` in the
// golden files); a mistake, such as an epsilon of 1e-6 in a norm or decay on biases, moves them by more than
// 1e-4 within twenty steps. A gradient's norm amplifies differences: PyTorch's own, in fp32, drifts to 8.5e-5
// from fp64 by the twentieth step (7e-7 at first). So norms get 1e-3.
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "models/presets.h"
#include "optim/clip.h"
#include "optim/optimizer.h"
#include "tests/parity/synthetic.h"
#include "tests/support/planned_model.h"

namespace tandem {
namespace {

constexpr double kTolerance = 1e-4;
constexpr double kGradientNormTolerance = 1e-3;

nlohmann::json golden(const std::string& name) {
  std::ifstream file(std::string(TANDEM_GOLDEN) + "/" + name + ".json");
  return nlohmann::json::parse(file);
}

void expect_close(double actual, double expected, const std::string& what, double tolerance = kTolerance) {
  EXPECT_NEAR(actual, expected, tolerance * std::abs(expected)) << what;
}

void expect_parameter_norms(const ParameterList& parameters, const nlohmann::json& norms) {
  ASSERT_EQ(parameters.size(), norms.size());
  for (const Parameter* p : parameters) {
    double square = 0;
    for (std::int64_t i = 0; i < p->numel(); ++i) square += std::pow(p->value.as<float>()[i], 2);
    expect_close(std::sqrt(square), norms.at(p->name), "norm of " + p->name);
  }
}

TEST(Parity, MlpWithMomentum) {
  constexpr std::int64_t batch = 64, pixels = 784;
  const nlohmann::json expected = golden("mlp");
  const auto mlp = make_model(model_config("mlp"));
  PlannedModel model(*mlp, {DType::f32, {batch, pixels}});
  parity::fill(mlp->parameters());
  const auto optimizer = make_sgd(model.context(), model.store(), {.momentum = 0.9});
  IgnoreGradients sink;

  for (std::size_t step = 0; step < expected["losses"].size(); ++step) {
    parity::ImageBatch data(step, batch, pixels);
    model.store().start_accumulation();
    const double loss =
        model.step(Tensor::of(data.x.data(), {batch, pixels}), Tensor::of(data.labels.data(), {batch}), sink);
    optimizer->start_step(/*lr=*/0.05);
    optimizer->update_all();
    expect_close(loss, expected["losses"][step], "loss of step " + std::to_string(step));
  }
  expect_parameter_norms(mlp->parameters(), expected["parameter_norms"]);
}

TEST(Parity, GptNanoWithAdamWAndClipping) {
  constexpr std::int64_t batch = 4, length = 128;
  const nlohmann::json expected = golden("gpt_nano");
  const auto gpt = make_model(model_config("gpt-nano"));
  PlannedModel model(*gpt, {DType::i32, {batch, length}});
  parity::fill(gpt->parameters());
  const auto optimizer =
      make_adamw(model.context(), model.store(), {.beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1});
  GradientNorm gradient_norm(model.context(), model.store());
  IgnoreGradients sink;

  for (std::size_t step = 0; step < expected["losses"].size(); ++step) {
    parity::TokenBatch data(step, batch, length);
    model.store().start_accumulation();
    const double loss = model.step(Tensor::of(data.ids.data(), {batch, length}),
                                   Tensor::of(data.targets.data(), {batch, length}), sink);
    gradient_norm.compute();
    const double norm = *gradient_norm.value().as<double>();
    optimizer->start_step(/*lr=*/1e-3);
    optimizer->clip(gradient_norm, 1.0);
    optimizer->update_all();
    expect_close(loss, expected["losses"][step], "loss of step " + std::to_string(step));
    expect_close(norm, expected["grad_norms"][step], "gradient norm of step " + std::to_string(step),
                 kGradientNormTolerance);
  }
  expect_parameter_norms(gpt->parameters(), expected["parameter_norms"]);
}

}  // namespace
}  // namespace tandem

#include "models/mlp.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/philox.h"
#include "tests/support/planned_model.h"

namespace tandem {
namespace {

TEST(Mlp, StartsAsPyTorchsLinearLayers) {
  Mlp mlp({{100, 400, 10}, ops::Activation::relu});
  PlannedModel model(mlp, {DType::f32, {2, 100}});
  for (const Parameter* p : mlp.parameters()) {
    const double bound = 1 / std::sqrt(p->name.starts_with("layers.0") ? 100.0 : 400.0);
    double most = 0, square = 0;
    for (std::int64_t i = 0; i < p->numel(); ++i) {
      const double w = p->value.as<float>()[i];
      most = std::max(most, std::abs(w)), square += w * w;
    }
    EXPECT_LE(most, bound) << p->name;
    if (p->numel() >= 400) {
      EXPECT_NEAR(std::sqrt(square / static_cast<double>(p->numel())), bound / std::sqrt(3.0), 0.1 * bound)
          << p->name;
    }
  }
}

/// Against the formula, written out in double.
TEST(Mlp, ComputesLayersWithActivationsBetween) {
  Mlp mlp({{3, 5, 2}, ops::Activation::relu});
  PlannedModel model(mlp, {DType::f32, {1, 3}});
  std::vector<float> x = {0.3f, -1.2f, 0.7f};
  const Tensor y = model.forward(Tensor::of(x.data(), {1, 3}));
  const ParameterList p = mlp.parameters();
  std::vector<double> in(x.begin(), x.end());
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const float *w = p[2 * layer]->value.as<float>(), *b = p[2 * layer + 1]->value.as<float>();
    std::vector<double> out;
    for (std::int64_t o = 0; o < p[2 * layer]->shape[0]; ++o) {
      double sum = b[o];
      for (std::size_t i = 0; i < in.size(); ++i)
        sum += w[static_cast<std::size_t>(o) * in.size() + i] * in[i];
      out.push_back(layer == 0 ? std::max(sum, 0.0) : sum);
    }
    in = out;
  }
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(y.as<float>()[i], in[static_cast<std::size_t>(i)], 1e-6);
}

TEST(Mlp, SkipsTheInputsGradientWhereNobodyNeedsIt) {
  Mlp mlp({{3, 5, 2}, ops::Activation::relu});
  mlp.set_input_gradient(false);
  PlannedModel model(mlp, {DType::f32, {1, 3}});
  std::vector<float> x = {0.3f, -1.2f, 0.7f};
  const Tensor y = model.forward(Tensor::of(x.data(), {1, 3}));
  IgnoreGradients sink;
  EXPECT_FALSE(mlp.backward(model.context(), y, sink));
}

TEST(Mlp, AccumulatesOverMicroBatches) {
  Mlp mlp({{3, 5, 2}, ops::Activation::gelu});
  PlannedModel model(mlp, {DType::f32, {2, 3}});
  Philox random(5);
  std::vector<float> x;
  for (int i = 0; i < 12; ++i) x.push_back(static_cast<float>(random.normal()));
  std::vector<std::int32_t> targets = {0, 1, 1, 1};
  IgnoreGradients sink;
  const auto micro_batch = [&](int i) {
    model.step(Tensor::of(x.data() + 6 * i, {2, 3}), Tensor::of(targets.data() + 2 * i, {2}), sink);
    const Tensor& g = model.store().grads();
    return std::vector<float>(g.as<float>(), g.as<float>() + g.numel());
  };
  model.store().start_accumulation();
  const std::vector<float> first = micro_batch(0), both = micro_batch(1);
  model.store().start_accumulation();
  const std::vector<float> second = micro_batch(1);
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_NEAR(both[i], first[i] + second[i], 1e-6);
}

TEST(Mlp, RefusesInputsItCannotTake) {
  Mlp mlp({{3, 5, 2}, ops::Activation::relu});
  Context context = Context::cpu();
  Arena saved, scratch;
  MemoryPlan memory{context, saved, scratch};
  EXPECT_THROW(mlp.plan(memory, {DType::f32, {2, 4}}), ContractError);
  EXPECT_THROW(mlp.plan(memory, {DType::f64, {2, 3}}), ContractError);
  EXPECT_THROW(Mlp({{3}, ops::Activation::relu}), ContractError);
}

}  // namespace
}  // namespace tandem

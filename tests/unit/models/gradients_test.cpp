// Every layer and both models against finite differences, in double precision.
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "core/nn/gradient_check.h"
#include "models/gpt.h"
#include "models/layers/activation.h"
#include "models/layers/attention.h"
#include "models/layers/block.h"
#include "models/layers/embedding.h"
#include "models/layers/layer_norm.h"
#include "models/layers/linear.h"
#include "models/mlp.h"

namespace tandem {
namespace {

struct Case {
  std::string name;
  std::function<std::unique_ptr<Module>()> make;
  Shape input;
  std::int64_t vocabulary = 0;  // > 0: the input is ids
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

template <class M, class... Args>
Case layer(const std::string& name, Shape input, std::int64_t vocabulary, Args... args) {
  return {name, [=] { return std::make_unique<M>(args...); }, input, vocabulary};
}

/// Odd sizes on purpose: they reach the tails of vectorised loops. ReLU's kink at 0 is hit by no probe:
/// inputs are drawn from a normal distribution, and a step of 1e-5 crosses 0 for one in 10⁵ (the seed is
/// fixed).
std::vector<Case> cases() {
  const MlpConfig relu{{7, 19, 5}, ops::Activation::relu}, gelu{{7, 19, 11, 5}, ops::Activation::gelu};
  const MlpConfig single{{7, 5}, ops::Activation::relu};
  const GptConfig gpt{/*layers=*/2, /*width=*/12, /*heads=*/3, /*vocabulary=*/17, /*sequence=*/9};
  return {
      layer<Linear>("Linear", {3, 7}, 0, "fc", 7, 5),
      layer<Linear>("LinearOfThreeDimensions", {2, 3, 7}, 0, "fc", 7, 5),
      layer<Activation>("Relu", {5, 19}, 0, ops::Activation::relu),
      layer<Activation>("Gelu", {5, 19}, 0, ops::Activation::gelu),
      layer<LayerNorm>("LayerNorm", {5, 19}, 0, "ln", 19),
      layer<Embedding>("Embedding", {3, 6}, 11, "wte", "wpe", 11, 8, 5, Init::normal(1)),
      layer<CausalAttention>("AttentionOfOneHead", {2, 7, 15}, 0, 1),
      layer<CausalAttention>("AttentionOfThreeHeads", {2, 21, 36}, 0, 3),
      layer<Block>("Block", {2, 7, 12}, 0, "h.0", 12, 3, 0.02, 0.01),
      layer<Mlp>("MlpRelu", {4, 7}, 0, relu),
      layer<Mlp>("MlpGelu", {4, 7}, 0, gelu),
      layer<Mlp>("MlpOfOneLayer", {4, 7}, 0, single),
      layer<Gpt>("Gpt", {2, 9}, 17, gpt),
      layer<Gpt>("GptOfShortInput", {3, 4}, 17, gpt),
      layer<Gpt>("GptRecomputingGelus", {2, 9}, 17, GptConfig{2, 12, 3, 17, 9, Recompute::gelu}),
      layer<Gpt>("GptRecomputingBlocks", {2, 9}, 17, GptConfig{2, 12, 3, 17, 9, Recompute::block}),
  };
}

class Gradients : public testing::TestWithParam<Case> {};

TEST_P(Gradients, AgreeWithFiniteDifferences) {
  const Case& c = GetParam();
  GradientCheckOptions options;
  options.vocabulary = c.vocabulary;
  for (options.seed = 1; options.seed <= 2; ++options.seed) {
    const std::unique_ptr<Module> module = c.make();
    const GradientCheckResult result = check_gradients(*module, c.input, options);
    EXPECT_TRUE(result.passed) << result.worst_place << ", error " << result.worst_error;
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, Gradients, testing::ValuesIn(cases()),
                         [](const auto& c) { return c.param.name; });

/// Freezing from the start, as a user does it.
TEST(FrozenParameters, LeaveTheOtherGradientsRight) {
  Gpt gpt({/*layers=*/2, /*width=*/12, /*heads=*/3, /*vocabulary=*/17, /*sequence=*/9});
  for (Parameter* p : gpt.parameters())
    p->frozen = p->name == "wte.weight" || p->name == "h.0.mlp.c_fc.weight" || p->name == "h.1.ln_2.bias";
  GradientCheckOptions options;
  options.vocabulary = 17;
  const GradientCheckResult result = check_gradients(gpt, {2, 9}, options);
  EXPECT_TRUE(result.passed) << result.worst_place << ", error " << result.worst_error;
}

}  // namespace
}  // namespace tandem

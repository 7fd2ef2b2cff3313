#include "models/presets.h"

#include <string>

#include <gtest/gtest.h>

namespace tandem {
namespace {

std::int64_t count(std::string_view preset) {
  return parameter_count(*make_model(model_config(preset)));
}

TEST(Presets, HaveTheParametersOfThePublishedModels) {
  EXPECT_EQ(count("mlp"), 784 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 10 + 10);
  constexpr std::int64_t padding = 50304 - 50257;  // rows of the token table
  EXPECT_EQ(count("gpt2"), 124'439'808 + padding * 768);
  EXPECT_EQ(count("gpt2-medium"), 354'823'168 + padding * 1024);
  EXPECT_EQ(count("gpt2-large"), 774'030'080 + padding * 1280);
  EXPECT_EQ(count("gpt2-xl"), 1'557'611'200 + padding * 1600);
}

TEST(Presets, PadLargeVocabulariesAlone) {
  EXPECT_EQ(GptConfig{.vocabulary = 50257}.padded_vocabulary(), 50304);
  EXPECT_EQ(GptConfig{.vocabulary = 50304}.padded_vocabulary(), 50304);
  EXPECT_EQ(GptConfig{.vocabulary = 300}.padded_vocabulary(), 300);
  EXPECT_EQ(classes_of(model_config("gpt2")), 50257);
  EXPECT_EQ(classes_of(model_config("mlp")), 10);
}

TEST(Presets, GptMiniHasAbout100MegabytesOfGradients) {
  EXPECT_NEAR(4.0 * static_cast<double>(count("gpt-mini")), 100e6, 5e6);
}

TEST(Presets, EveryDimensionCanBeOverridden) {
  ModelOverrides gpt;
  gpt.layers = 2, gpt.width = 24, gpt.heads = 6, gpt.vocabulary = 50, gpt.sequence = 10;
  EXPECT_EQ(model_config("gpt2-xl", gpt).gpt(), (GptConfig{2, 24, 6, 50, 10}));
  ModelOverrides mlp;
  mlp.mlp_sizes = {5, 4, 3, 2}, mlp.activation = ops::Activation::gelu;
  EXPECT_EQ(model_config("mlp", mlp).mlp(), (MlpConfig{{5, 4, 3, 2}, ops::Activation::gelu}));
}

TEST(Presets, CountFloatingPointOperations) {
  EXPECT_EQ(model_flop(model_config("mlp")), 6.0 * 1'863'690);
  EXPECT_EQ(model_flop(model_config("gpt2")), 6.0 * 124'439'808 + 6.0 * 12 * 768 * 1024);
}

std::string error_of(std::string_view preset, const ModelOverrides& overrides = {}) {
  try {
    model_config(preset, overrides);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Presets, AnUnknownNameListsTheKnownOnes) {
  EXPECT_EQ(error_of("gpt5"),
            "--model gpt5: no such model; there are mlp, gpt-nano, gpt-mini, gpt2, gpt2-medium, gpt2-large, "
            "gpt2-xl");
}

TEST(Presets, RefuseDimensionsThatMakeNoModel) {
  const auto gpt = [](auto ModelOverrides::*option, std::int64_t value) {
    ModelOverrides overrides;
    overrides.*option = value;
    return error_of("gpt-nano", overrides);
  };
  EXPECT_EQ(gpt(&ModelOverrides::layers, 0), "--layers 0: must be between 1 and 1000");
  EXPECT_EQ(gpt(&ModelOverrides::width, -4), "--width -4: must be between 1 and 131072");
  EXPECT_EQ(gpt(&ModelOverrides::heads, -1), "--heads -1: must be between 1 and 131072");
  EXPECT_EQ(gpt(&ModelOverrides::vocabulary, 1'000'000'000'000),
            "--vocab 1000000000000: must be between 1 and 16777216");
  EXPECT_EQ(gpt(&ModelOverrides::sequence, 0), "--seq 0: must be between 1 and 1048576");
  EXPECT_EQ(gpt(&ModelOverrides::heads, 3),
            "--heads 3 does not divide --width 256: each head takes an equal share of the width");
}

TEST(Presets, RefuseSizesThatMakeNoMlp) {
  const auto mlp = [](std::vector<std::int64_t> sizes) {
    ModelOverrides overrides;
    overrides.mlp_sizes = std::move(sizes);
    return error_of("mlp", overrides);
  };
  EXPECT_EQ(mlp({784}), "--mlp-sizes 784: give the input's size, any hidden sizes, and the output's");
  EXPECT_EQ(mlp({784, 0, 10}), "--mlp-sizes 0: must be between 1 and 16777216");
}

TEST(Presets, RefuseOptionsOfTheOtherKind) {
  ModelOverrides sizes, layers;
  sizes.mlp_sizes = {4, 2};
  layers.layers = 3;
  EXPECT_EQ(error_of("gpt2", sizes), "--mlp-sizes does not apply to --model gpt2, which is a transformer");
  EXPECT_EQ(error_of("mlp", layers), "--layers does not apply to --model mlp, which is an MLP");
}

}  // namespace
}  // namespace tandem

#include "models/gpt.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/philox.h"
#include "tests/support/planned_model.h"

namespace tandem {
namespace {

constexpr GptConfig kTiny{/*layers=*/3, /*width=*/16, /*heads=*/2, /*vocabulary=*/11, /*sequence=*/8};

class NotingSink final : public GradientSink {
 public:
  void ready(Parameter& parameter) override { names.push_back(parameter.name); }
  std::vector<std::string> names;
};

std::vector<std::int32_t> random_ids(std::int64_t count, std::uint32_t vocabulary, std::uint64_t seed) {
  Philox random(seed);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(random() % vocabulary));
  return ids;
}

double deviation(const Parameter& p) {
  const float* w = p.value.as<float>();
  double square = 0;
  for (std::int64_t i = 0; i < p.numel(); ++i) square += double(w[i]) * w[i];
  return std::sqrt(square / static_cast<double>(p.numel()));
}

TEST(Gpt, NamesItsParametersAsGpt2) {
  Gpt gpt({/*layers=*/1, 16, 2, 11, 8});
  std::vector<std::string> names;
  for (const Parameter* p : gpt.parameters()) names.push_back(p->name + " " + p->shape.str());
  EXPECT_EQ(names, (std::vector<std::string>{
                       "wte.weight [11, 16]", "wpe.weight [8, 16]", "h.0.ln_1.weight [16]",
                       "h.0.ln_1.bias [16]", "h.0.attn.c_attn.weight [48, 16]", "h.0.attn.c_attn.bias [48]",
                       "h.0.attn.c_proj.weight [16, 16]", "h.0.attn.c_proj.bias [16]", "h.0.ln_2.weight [16]",
                       "h.0.ln_2.bias [16]", "h.0.mlp.c_fc.weight [64, 16]", "h.0.mlp.c_fc.bias [64]",
                       "h.0.mlp.c_proj.weight [16, 64]", "h.0.mlp.c_proj.bias [16]", "ln_f.weight [16]",
                       "ln_f.bias [16]"}));
}

TEST(Gpt, DecaysMatricesAlone) {
  Gpt gpt(kTiny);
  for (const Parameter* p : gpt.parameters()) EXPECT_EQ(p->decay, p->shape.rank() == 2) << p->name;
}

TEST(Gpt, StartsAsGpt2) {
  Gpt gpt({/*layers=*/2, 128, 4, 256, 64});
  const auto expected = [](const std::string& name) {
    if (name.ends_with("bias")) return 0.0;
    if (name.find("ln_") != std::string::npos) return 1.0;
    return name.ends_with("c_proj.weight") ? 0.02 / std::sqrt(4.0) : 0.02;
  };
  PlannedModel model(gpt, {DType::i32, {1, 4}});
  for (const Parameter* p : gpt.parameters())
    EXPECT_NEAR(deviation(*p), expected(p->name), 0.05 * expected(p->name)) << p->name;
}

TEST(Gpt, AnnouncesGradientsFromTheHeadToTheEmbedding) {
  Gpt gpt({/*layers=*/1, 16, 2, 11, 8});
  PlannedModel model(gpt, {DType::i32, {2, 8}});
  std::vector<std::int32_t> ids = random_ids(16, 11, 1), targets = random_ids(16, 11, 2);
  NotingSink sink;
  model.step(Tensor::of(ids.data(), {2, 8}), Tensor::of(targets.data(), {2, 8}), sink);
  EXPECT_EQ(sink.names,
            (std::vector<std::string>{
                "wte.weight", "ln_f.weight", "ln_f.bias", "h.0.mlp.c_proj.weight", "h.0.mlp.c_proj.bias",
                "h.0.mlp.c_fc.weight", "h.0.mlp.c_fc.bias", "h.0.ln_2.weight", "h.0.ln_2.bias",
                "h.0.attn.c_proj.weight", "h.0.attn.c_proj.bias", "h.0.attn.c_attn.weight",
                "h.0.attn.c_attn.bias", "h.0.ln_1.weight", "h.0.ln_1.bias", "wpe.weight", "wte.weight"}));
}

TEST(Gpt, StartsWithALossNearThatOfAGuess) {
  Gpt gpt(kTiny);
  PlannedModel model(gpt, {DType::i32, {4, 8}});
  std::vector<std::int32_t> ids = random_ids(32, 11, 1), targets = random_ids(32, 11, 2);
  IgnoreGradients sink;
  const double loss = model.step(Tensor::of(ids.data(), {4, 8}), Tensor::of(targets.data(), {4, 8}), sink);
  EXPECT_NEAR(loss, std::log(11.0), 0.1);
}

TEST(Gpt, DoesNotSeeTheFuture) {
  Gpt gpt(kTiny);
  PlannedModel model(gpt, {DType::i32, {1, 8}});
  std::vector<std::int32_t> ids = random_ids(8, 11, 3);
  const auto logits = [&] {
    const Tensor y = model.forward(Tensor::of(ids.data(), {1, 8}));
    return std::vector<float>(y.as<float>(), y.as<float>() + y.numel());
  };
  const std::vector<float> before = logits();
  ids[5] = (ids[5] + 1) % 11;
  const std::vector<float> after = logits();
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 5 * 11, after.begin()));
  EXPECT_FALSE(std::equal(before.begin() + 5 * 11, before.end(), after.begin() + 5 * 11));
}

TEST(Gpt, ComputesTheSameBitsAgain) {
  Gpt gpt(kTiny);
  PlannedModel model(gpt, {DType::i32, {4, 8}});
  std::vector<std::int32_t> ids = random_ids(32, 11, 1), targets = random_ids(32, 11, 2);
  IgnoreGradients sink;
  const auto gradients = [&] {
    model.store().start_accumulation();
    model.step(Tensor::of(ids.data(), {4, 8}), Tensor::of(targets.data(), {4, 8}), sink);
    const Tensor& g = model.store().grads();
    return std::vector<float>(g.as<float>(), g.as<float>() + g.numel());
  };
  const std::vector<float> first = gradients();
  EXPECT_EQ(first, gradients());
}

TEST(Gpt, RecomputingChangesNoBit) {
  const auto gradients_of_two_steps = [](Recompute recompute) {
    GptConfig config = kTiny;
    config.layers = 4;
    config.recompute = recompute;
    Gpt gpt(config);
    PlannedModel model(gpt, {DType::i32, {4, 8}});
    IgnoreGradients sink;
    std::vector<float> all;
    for (std::uint64_t step = 0; step < 2; ++step) {  // the second finds what the first left in memory
      std::vector<std::int32_t> ids = random_ids(32, 11, 2 * step),
                                targets = random_ids(32, 11, 2 * step + 1);
      model.store().start_accumulation();
      model.step(Tensor::of(ids.data(), {4, 8}), Tensor::of(targets.data(), {4, 8}), sink);
      const Tensor& g = model.store().grads();
      all.insert(all.end(), g.as<float>(), g.as<float>() + g.numel());
    }
    return all;
  };
  const std::vector<float> plain = gradients_of_two_steps(Recompute::none);
  EXPECT_EQ(plain, gradients_of_two_steps(Recompute::gelu));
  EXPECT_EQ(plain, gradients_of_two_steps(Recompute::block));
}

/// The shares of a block's activations that --recompute promises.
TEST(Gpt, RecomputingSavesMemory) {
  const auto per_block = [](Recompute recompute) {
    const auto saved = [&](std::int64_t layers) {
      Gpt gpt({layers, 64, 2, 11, 8, recompute});
      const Context context = Context::cpu();
      return PlannedMemory::measure(context,
                                    [&](MemoryPlan& plan) {
                                      gpt.plan(plan, {DType::i32, {4, 8}});
                                    })
          .saved;
    };
    return saved(6) - saved(5);
  };
  const std::int64_t width_bytes = 4 * 8 * 64 * 4;  // of one [B, T, width]
  EXPECT_EQ(per_block(Recompute::none) - per_block(Recompute::gelu), 4 * width_bytes);
  EXPECT_EQ(per_block(Recompute::block), width_bytes);
}

/// Scratch must not grow with the depth, and what is saved must grow in proportion.
TEST(Gpt, SharesItsScratchAmongBlocks) {
  const auto memory = [](std::int64_t layers) {
    Gpt gpt({layers, 16, 2, 11, 8});
    const Context context = Context::cpu();
    const auto bytes = PlannedMemory::measure(context, [&](MemoryPlan& plan) {
      gpt.plan(plan, {DType::i32, {4, 8}});
    });
    return std::pair(bytes.saved, bytes.scratch);
  };
  const auto [saved_1, scratch_1] = memory(1);
  const auto [saved_2, scratch_2] = memory(2);
  const auto [saved_4, scratch_4] = memory(4);
  EXPECT_EQ(scratch_1, scratch_4);
  EXPECT_EQ(saved_4 - saved_2, 2 * (saved_2 - saved_1));
}

TEST(Gpt, RefusesInputsItCannotTake) {
  Gpt gpt(kTiny);
  Context context = Context::cpu();
  Arena saved, scratch;
  MemoryPlan memory{context, saved, scratch};
  EXPECT_THROW(gpt.plan(memory, {DType::i32, {2, 9}}), ContractError);  // longer than the position table
  EXPECT_THROW(gpt.plan(memory, {DType::f32, {2, 8}}), ContractError);
  EXPECT_THROW(gpt.plan(memory, {DType::i32, {8}}), ContractError);
  EXPECT_THROW(Gpt({1, 16, 3, 11, 8}), ContractError);
}

}  // namespace
}  // namespace tandem

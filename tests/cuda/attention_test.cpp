#include "core/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/ops/cuda/cudnn_attention.h"
#include "core/ops/cuda/own_attention.h"
#include "tests/cuda/device_tensors.h"
#include "tests/cuda/replay.h"

namespace tandem {
namespace {

/// Probabilities are rounded as well, not only results.
double tolerance_for(DType dtype) {
  return tolerance_of(dtype == DType::f32 ? DType::f32 : DType::bf16);
}
/// lse is f32 beside each of them; cuDNN's exponentials are approximate.
double lse_tolerance_for(DType dtype) {
  return dtype == DType::f32 ? 1e-5 : 1e-4;
}

struct Sizes {
  std::int64_t batch, sequence, heads, head_size;

  Shape plain() const { return {batch, sequence, heads * head_size}; }
  Shape packed() const { return {batch, sequence, 3 * heads * head_size}; }
  Shape lse() const { return {batch, heads, sequence}; }
};
// Tiles have 64 rows, or 32 where heads are larger than 64; cuDNN takes multiples of 8 or 128.
const std::vector<Sizes> kSizes = {{1, 1, 1, 8},     {2, 3, 2, 5},    {1, 17, 3, 16},  {2, 64, 1, 64},
                                   {1, 127, 2, 20},  {1, 200, 1, 33}, {3, 128, 2, 64}, {1, 129, 2, 128},
                                   {2, 256, 3, 128}, {1, 384, 2, 32}, {2, 72, 2, 80},  {2, 1024, 3, 64}};

struct Inputs {
  Values qkv, dy;
};

/// The CPU's attention in f64.
struct Expected {
  Expected(Context& cpu, const Sizes& s, Inputs inputs)
      : y(s.plain().numel()), lse(s.lse().numel()), dqkv(s.packed().numel()) {
    const Tensor qkv = host(inputs.qkv, s.packed());
    std::vector<double> memory(ops::attention_scratch(cpu, qkv.spec(), s.heads) / 8 + 1);
    const Tensor scratch(memory.data(), DType::u8, {static_cast<std::int64_t>(memory.size()) * 8});
    ops::attention_forward(cpu, qkv, s.heads, host(y, s.plain()), host(lse, s.lse()), scratch);
    ops::attention_backward(cpu, qkv, s.heads, host(y, s.plain()), host(lse, s.lse()),
                            host(inputs.dy, s.plain()), host(dqkv, s.packed()), scratch);
  }
  Values y, lse, dqkv;
};

/// Forward and backward on the GPU.
class OnGpu {
 public:
  OnGpu(Bench& bench, DType dtype, const Sizes& s, const Inputs& inputs)
      : context_(bench.gpu),
        heads_(s.heads),
        qkv(bench.upload(dtype, s.packed(), inputs.qkv)),
        dy(bench.upload(dtype, s.plain(), inputs.dy)),
        y(bench.poisoned(dtype, s.plain())),
        lse(bench.poisoned(DType::f32, s.lse())),
        dqkv(bench.poisoned(dtype, s.packed())),
        scratch(bench.poisoned(DType::u8, {scratch_bytes({dtype, s.packed()})})) {}

  void poison() {
    for (const DeviceTensor* t : {&dqkv, &y, &lse, &scratch}) t->poison();
  }
  void run() {
    ops::attention_forward(context_, qkv, heads_, y, lse, scratch);
    ops::attention_backward(context_, qkv, heads_, y, lse, dy, dqkv, scratch);
  }
  void run_own() {
    ops::cuda::own_attention_forward(context_, qkv, heads_, y, lse);
    ops::cuda::own_attention_backward(context_, qkv, heads_, y, lse, dy, dqkv, scratch);
  }
  std::vector<Bytes> results() const { return {y.bytes(), lse.bytes(), dqkv.bytes()}; }

 private:
  std::int64_t scratch_bytes(const TensorSpec& spec) const {
    return std::max(ops::attention_scratch(context_, spec, heads_),
                    ops::cuda::own_attention_scratch(spec, heads_));
  }

  Context& context_;
  std::int64_t heads_;

 public:
  DeviceTensor qkv, dy, y, lse, dqkv, scratch;
};

class AttentionCuda : public ::testing::TestWithParam<DType> {
 protected:
  Inputs random(const Sizes& s) {
    return {bench.random(dtype, s.packed().numel()), bench.random(dtype, s.plain().numel())};
  }
  void expect_close(const OnGpu& gpu, const Expected& expected) {
    EXPECT_LT(error_of(gpu.y.download(), expected.y), tolerance_for(dtype));
    EXPECT_LT(error_of(gpu.lse.download(), expected.lse), lse_tolerance_for(dtype));
    EXPECT_LT(error_of(gpu.dqkv.download(), expected.dqkv), tolerance_for(dtype));
  }

  DType dtype = GetParam();
  Bench bench;
};
INSTANTIATE_TEST_SUITE_P(All, AttentionCuda, ::testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST_P(AttentionCuda, MatchesTheCpu) {
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(fmt::format("B {}, T {}, {} heads of {}", s.batch, s.sequence, s.heads, s.head_size));
    const Inputs inputs = random(s);
    const Expected expected(bench.cpu, s, inputs);
    OnGpu gpu(bench, dtype, s, inputs);
    gpu.run();
    expect_close(gpu, expected);
    gpu.poison();
    gpu.run_own();
    expect_close(gpu, expected);
  }
}

TEST_P(AttentionCuda, HasTheSameBitsInEveryRun) {
  for (const Sizes& s : {Sizes{4, 1024, 12, 64}, Sizes{2, 200, 3, 24}}) {
    OnGpu gpu(bench, dtype, s, random(s));
    gpu.run();
    const auto first = gpu.results();
    for (int i = 0; i < 3; ++i) {
      gpu.poison();
      gpu.run();
      EXPECT_TRUE(gpu.results() == first);
    }
  }
}

TEST_P(AttentionCuda, CanBeCaptured) {
  const Sizes s{2, 256, 3, 64};
  OnGpu gpu(bench, dtype, s, random(s));
  gpu.run();  // warm-up, as before every capture
  const auto expected = gpu.results();
  gpu.poison();
  replay(bench.gpu, [&] { gpu.run(); });
  EXPECT_TRUE(gpu.results() == expected);
}

TEST_P(AttentionCuda, ScoresMayBeLarge) {
  const Sizes s{1, 128, 1, 64};
  Inputs inputs = random(s);
  for (std::size_t i = 0; i < inputs.qkv.size(); ++i)
    if (i % 192 < 64) inputs.qkv[i] *= 200;
  OnGpu gpu(bench, dtype, s, inputs);
  gpu.run();
  for (const double x : gpu.lse.download()) EXPECT_TRUE(std::isfinite(x));
  for (const double x : gpu.dqkv.download()) EXPECT_TRUE(std::isfinite(x));
}

TEST_P(AttentionCuda, IsCudnnsInShortTypes) {
  if (!ops::cuda::cudnn_attention_available()) GTEST_SKIP() << "no cuDNN";
  EXPECT_EQ(ops::cuda::cudnn_attends(bench.gpu, {dtype, {8, 1024, 3 * 768}}, 12), dtype != DType::f32);
}

TEST_P(AttentionCuda, SaysThatHeadsAreTooLarge) {
  EXPECT_THROW(ops::attention_scratch(bench.gpu, {dtype, {1, 64, 3 * 136}}, 1), ContractError);
  EXPECT_EQ(ops::attention_scratch(bench.gpu, {dtype, {0, 64, 3 * 64}}, 1), 0);
}

}  // namespace
}  // namespace tandem

#include "core/ops/update.h"

#include <array>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/ops/convert.h"
#include "tests/cuda/device_tensors.h"

namespace tandem {
namespace {

using ops::Segment;

constexpr std::int64_t kElements = 100000;
/// With padding between them and at the end; the third has several chunks, the last of them odd.
const std::array<Segment, 3> kSegments = {Segment{0, 1, 1.0f, 0.0f}, Segment{32, 127, 0.5f, 0.1f},
                                          Segment{160, 99001, 1.0f, 0.01f}};

/// Types of values and gradients.
struct Types {
  DType value, grad;
};
constexpr Types kTypes[] = {{DType::f32, DType::f32},
                            {DType::bf16, DType::bf16},
                            {DType::bf16, DType::f32},
                            {DType::f16, DType::f16},
                            {DType::f16, DType::f32}};

class UpdateCuda : public ::testing::TestWithParam<Types> {
 protected:
  bool short_values() const { return GetParam().value != DType::f32; }
  const Tensor& master() const { return short_values() ? master_.tensor() : value_.tensor(); }

  void start() {
    twin_ = bench_.random(GetParam().value, kElements);
    value_ = bench_.upload(GetParam().value, {kElements}, twin_);
    if (short_values()) master_ = bench_.upload(DType::f32, {kElements}, twin_);
  }

  /// A step on both sides: `gpu` and `cpu` are given scalars, gradient and the table of their side.
  template <class Gpu, class Cpu>
  void step(int number, Gpu&& gpu, Cpu&& cpu) {
    Values scalars(ops::kScalars);
    scalars[ops::kLearningRate] = 0.05 / number;
    scalars[ops::kGradScale] = 0.5;
    scalars[ops::kStep] = number;
    Values grad = bench_.random(GetParam().grad, kElements);
    gpu(bench_.upload(DType::f64, {ops::kScalars}, scalars),
        bench_.upload(GetParam().grad, {kElements}, grad));
    cpu(host(scalars, {ops::kScalars}), host(grad, {kElements}));
  }

  /// The masters follow the twin, padding included; the values are the masters, rounded.
  void expect_follows() {
    const Values masters = short_values() ? master_.download() : value_.download();
    EXPECT_LT(error_of(masters, twin_), tolerance_of(DType::f32));
    EXPECT_EQ(value_.download(), read(GetParam().value, stored(GetParam().value, masters)));
  }

  Bench bench_;
  ops::SegmentTable gpu_table_{bench_.gpu, kSegments}, cpu_table_{bench_.cpu, kSegments};
  Values twin_;
  DeviceTensor value_, master_;
};

ops::ChunkRange all(const ops::SegmentTable& table) {
  return {table, 0, std::ssize(table.chunks())};
}

TEST_P(UpdateCuda, SgdFollowsItsTwin) {
  for (const double momentum : {0.0, 0.9})
    for (const bool nesterov : {false, true}) {
      start();
      const ops::SgdRule rule{momentum, nesterov};
      const auto buffer = bench_.poisoned(DType::f32, {kElements});  // the first step sets it
      Values twin_buffer(kElements, std::numeric_limits<double>::quiet_NaN());
      for (int number = 1; number <= 3; ++number)
        step(
            number,
            [&](const Tensor& scalars, const Tensor& grad) {
              ops::sgd_update(bench_.gpu, rule, scalars, all(gpu_table_), value_, master(), grad,
                              momentum > 0 ? buffer.tensor() : Tensor());
            },
            [&](const Tensor& scalars, const Tensor& grad) {
              const Tensor x = host(twin_, {kElements});
              ops::sgd_update(bench_.cpu, rule, scalars, all(cpu_table_), x, x, grad,
                              momentum > 0 ? host(twin_buffer, {kElements}) : Tensor());
            });
      expect_follows();
    }
}

TEST_P(UpdateCuda, AdamWFollowsItsTwin) {
  start();
  const ops::AdamWRule rule{0.9, 0.95, 1e-8};
  Values first(kElements), second(kElements);
  const auto m = bench_.upload(DType::f32, {kElements}, first),
             v = bench_.upload(DType::f32, {kElements}, second);
  for (int number = 1; number <= 3; ++number)
    step(
        number,
        [&](const Tensor& scalars, const Tensor& grad) {  // in two ranges, the later one first
          const std::int64_t chunks = std::ssize(gpu_table_.chunks());
          for (const ops::ChunkRange& range :
               {ops::ChunkRange{gpu_table_, 2, chunks - 2}, {gpu_table_, 0, 2}})
            ops::adamw_update(bench_.gpu, rule, scalars, range, value_, master(), grad, m, v);
        },
        [&](const Tensor& scalars, const Tensor& grad) {
          const Tensor x = host(twin_, {kElements});
          ops::adamw_update(bench_.cpu, rule, scalars, all(cpu_table_), x, x, grad, host(first, {kElements}),
                            host(second, {kElements}));
        });
  expect_follows();
  EXPECT_LT(error_of(m.download(), first), tolerance_of(DType::f32));
  EXPECT_LT(error_of(v.download(), second), tolerance_of(DType::f32));
}

TEST_P(UpdateCuda, NormAndClippingFollowTheirTwin) {
  const DType dtype = GetParam().grad;
  Values grad = bench_.random(dtype, kElements), norm(1), scalars(ops::kScalars, 7);
  Values sums(cpu_table_.chunks().size());
  const Tensor twin = host(grad, {kElements});
  ops::gradient_norm(bench_.cpu, cpu_table_, twin, host(sums, {std::ssize(sums)}), host(norm, {1}));

  const auto gpu_grad = bench_.upload(dtype, {kElements}, grad);
  const auto gpu_sums = bench_.poisoned(DType::f64, {std::ssize(sums)}),
             gpu_norm = bench_.poisoned(DType::f64, {1});
  const auto gpu_scalars = bench_.upload(DType::f64, {ops::kScalars}, scalars);
  ops::gradient_norm(bench_.gpu, gpu_table_, gpu_grad, gpu_sums, gpu_norm);
  EXPECT_NEAR(gpu_norm.download()[0], norm[0], 1e-12 * norm[0]);
  for (const double limit : {norm[0] * 3, norm[0] / 3}) {
    ops::clip_scale(bench_.gpu, gpu_norm, limit, gpu_scalars);
    ops::clip_scale(bench_.cpu, host(norm, {1}), limit, host(scalars, {ops::kScalars}));
    EXPECT_NEAR(gpu_scalars.download()[ops::kGradScale], scalars[ops::kGradScale], 1e-12);
    EXPECT_EQ(gpu_scalars.download()[ops::kStep], 7);
  }
}

TEST_P(UpdateCuda, ALossScaleFollowsItsTwinAndSkippedStepsChangeNothing) {
  start();
  const auto momentum = bench_.poisoned(DType::f32, {kElements});
  Values twin_momentum(kElements), state(ops::kLossScaleValues);
  state[ops::kScale] = 1024;
  const auto gpu_state = bench_.upload(DType::f64, {ops::kLossScaleValues}, state);
  const double infinity = std::numeric_limits<double>::infinity();
  int number = 0;
  for (const double length : {infinity, 512.0, std::nan(""), 2048.0, 100.0}) {
    const auto step_of = [&](Context& context, const Tensor& norm, const Tensor& scale,
                             const Tensor& scalars) {
      ops::unscale(context, {.interval = 2}, norm, scale, scalars);
      ops::clip_scale(context, norm, 1, scalars);
    };
    step(
        ++number,
        [&](const Tensor& scalars, const Tensor& grad) {
          Values norm(1, length);
          const auto gpu_norm = bench_.upload(DType::f64, {1}, norm);
          step_of(bench_.gpu, gpu_norm, gpu_state, scalars);
          ops::sgd_update(bench_.gpu, {0.9, false}, scalars, {gpu_table_, 0, std::ssize(gpu_table_.chunks())},
                          value_, master(), grad, momentum);
        },
        [&](const Tensor& scalars, const Tensor& grad) {
          Values norm(1, length);
          const Tensor twin = host(twin_, {kElements});
          step_of(bench_.cpu, host(norm, {1}), host(state, {ops::kLossScaleValues}), scalars);
          ops::sgd_update(bench_.cpu, {0.9, false}, scalars, {cpu_table_, 0, std::ssize(cpu_table_.chunks())},
                          twin, twin, grad, host(twin_momentum, {kElements}));
        });
    EXPECT_EQ(gpu_state.download(), state) << length;
    expect_follows();
  }
  EXPECT_EQ(state[ops::kSkippedSteps], 2);
}

INSTANTIATE_TEST_SUITE_P(Types, UpdateCuda, ::testing::ValuesIn(kTypes), [](const auto& instance) {
  return std::string(name_of(instance.param.value)) + "_" + std::string(name_of(instance.param.grad));
});

TEST(ConvertCuda, RoundsToNearestEven) {
  Bench bench;
  const Values from = bench.random(DType::f32, 70001);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const auto in = bench.upload(DType::f32, {70001}, from), out = bench.poisoned(dtype, {70001});
    const auto back = bench.poisoned(DType::f32, {70001});
    ops::convert(bench.gpu, in, out);
    ops::convert(bench.gpu, out, back);
    const Values rounded = read(dtype, stored(dtype, from));
    EXPECT_EQ(out.download(), rounded);
    EXPECT_EQ(back.download(), rounded);
  }
}

TEST(ConvertCuda, AddsScaled) {
  Bench bench;
  const auto factor = bench.upload(DType::f64, {1}, {0.25}), value = bench.upload(DType::f64, {1}, {3});
  const auto sum = bench.poisoned(DType::f64, {1});
  ops::add_scaled(bench.gpu, factor, value, sum, Write::assign);
  ops::add_scaled(bench.gpu, factor, value, sum, Write::add);
  EXPECT_EQ(sum.download()[0], 1.5);
}

}  // namespace
}  // namespace tandem

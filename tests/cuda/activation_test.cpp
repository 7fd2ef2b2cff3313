#include "core/ops/activation.h"

#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/cuda/device_tensors.h"
#include "tests/cuda/replay.h"

namespace tandem {
namespace {

using ops::Activation;

using Case = std::tuple<DType, Activation, Address>;

class ActivationCuda : public ::testing::TestWithParam<Case> {
 protected:
  DType dtype = std::get<0>(GetParam());
  Activation activation = std::get<1>(GetParam());
  Address address = std::get<2>(GetParam());
  Bench bench;
};

// None; one; less than a vector; whole vectors; several blocks and a tail.
constexpr std::int64_t kCounts[] = {0, 1, 5, 4096, 100003};

TEST_P(ActivationCuda, Forward) {
  for (const std::int64_t count : kCounts) {
    SCOPED_TRACE(count);
    Values x = bench.random(dtype, count, 3), y(x.size());
    const auto gpu_x = bench.upload(dtype, {count}, x, address),
               gpu_y = bench.poisoned(dtype, {count}, address);
    ops::activation_forward(bench.gpu, activation, gpu_x, gpu_y);
    ops::activation_forward(bench.cpu, activation, host(x, {count}), host(y, {count}));
    EXPECT_LT(error_of(gpu_y.download(), y), tolerance_of(dtype));
    EXPECT_EQ(gpu_x.download(), x);
    if (activation != Activation::relu) continue;
    ops::activation_forward(bench.gpu, activation, gpu_x, gpu_x);
    EXPECT_EQ(gpu_x.bytes(), gpu_y.bytes());
  }
}

TEST_P(ActivationCuda, Backward) {
  for (const std::int64_t count : kCounts) {
    SCOPED_TRACE(count);
    Values x = bench.random(dtype, count, 3), dy = bench.random(dtype, count), dx(x.size());
    const auto gpu_x = bench.upload(dtype, {count}, x, address),
               gpu_dy = bench.upload(dtype, {count}, dy, address);
    const auto gpu_dx = bench.poisoned(dtype, {count}, address);
    ops::activation_backward(bench.gpu, activation, gpu_x, gpu_dy, gpu_dx);
    ops::activation_backward(bench.cpu, activation, host(x, {count}), host(dy, {count}), host(dx, {count}));
    EXPECT_LT(error_of(gpu_dx.download(), dx), tolerance_of(dtype));
    ops::activation_backward(bench.gpu, activation, gpu_x, gpu_dy, gpu_dy);  // in place
    EXPECT_EQ(gpu_dy.bytes(), gpu_dx.bytes());
  }
}

/// Far from 0 GELU is x or 0, and its derivative 1 or 0, without overflow; a NaN stays one.
TEST_P(ActivationCuda, Extremes) {
  const Values x{-60000, -30, 30, 60000, std::numeric_limits<double>::quiet_NaN()}, dy(5, 1);
  const auto gpu_x = bench.upload(dtype, {5}, x, address), gpu_dy = bench.upload(dtype, {5}, dy, address);
  const auto gpu_y = bench.poisoned(dtype, {5}, address), gpu_dx = bench.poisoned(dtype, {5}, address);
  ops::activation_forward(bench.gpu, activation, gpu_x, gpu_y);
  ops::activation_backward(bench.gpu, activation, gpu_x, gpu_dy, gpu_dx);
  const Values rounded = gpu_x.download(), y = gpu_y.download(), dx = gpu_dx.download();
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(y[i], i < 2 ? 0 : rounded[i], 1e-12) << x[i];
    EXPECT_NEAR(dx[i], i < 2 ? 0 : 1, 1e-12) << x[i];
  }
  EXPECT_TRUE(std::isnan(y[4]));
}

TEST_P(ActivationCuda, Capture) {
  const auto x = bench.upload(dtype, {3, 100}, bench.random(dtype, 300), address);
  const auto eager = bench.poisoned(dtype, {3, 100}), replayed = bench.poisoned(dtype, {3, 100});
  ops::activation_forward(bench.gpu, activation, x, eager);
  replay(bench.gpu, [&] { ops::activation_forward(bench.gpu, activation, x, replayed); });
  EXPECT_EQ(replayed.bytes(), eager.bytes());
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const auto& [dtype, activation, address] = info.param;
  return fmt::format("{}_{}_{}", name_of(dtype), name_of(activation),
                     address == Address::aligned ? "aligned" : "one_off");
}

INSTANTIATE_TEST_SUITE_P(All, ActivationCuda,
                         ::testing::Combine(::testing::Values(DType::f32, DType::bf16, DType::f16),
                                            ::testing::Values(Activation::relu, Activation::gelu),
                                            ::testing::Values(Address::aligned, Address::one_off)),
                         case_name);

}  // namespace
}  // namespace tandem

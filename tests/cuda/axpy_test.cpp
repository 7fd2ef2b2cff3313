#include "core/ops/axpy.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/ops/convert.h"
#include "core/ops/orthonormalize.h"
#include "tests/cuda/device_tensors.h"
#include "tests/cuda/replay.h"

namespace tandem {
namespace {

class AxpyCuda : public ::testing::TestWithParam<DType> {
 protected:
  Bench bench_;
};

TEST_P(AxpyCuda, FollowsTheFormula) {
  for (const std::int64_t count : {0, 1, 255, 100003}) {
    const Values x = bench_.random(GetParam(), count), y = bench_.random(GetParam(), count);
    const auto gpu_x = bench_.upload(GetParam(), {count}, x), gpu_y = bench_.upload(GetParam(), {count}, y);
    ops::axpy(bench_.gpu, -0.75, gpu_x, gpu_y);
    Values expected(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) expected[i] = y[i] - 0.75 * x[i];
    if (count == 0) continue;
    EXPECT_LT(error_of(gpu_y.download(), expected), tolerance_of(GetParam())) << count;
    EXPECT_EQ(gpu_x.download(), x);
  }
}

/// As communication hooks do it: on the comm stream, within a graph.
TEST_P(AxpyCuda, ComputesOnTheCommStreamOfACapturedStep) {
  constexpr std::int64_t kCount = 5000;
  const Values x = bench_.random(DType::f32, kCount);
  const auto gpu_x = bench_.upload(DType::f32, {kCount}, x), back = bench_.poisoned(DType::f32, {kCount});
  const auto wire = bench_.poisoned(GetParam(), {kCount});
  Event ready = bench_.gpu.make_event(), done = bench_.gpu.make_event();
  replay(bench_.gpu, [&] {
    bench_.gpu.compute().record(ready);
    bench_.gpu.comm().wait(ready);
    bench_.gpu.on_comm([&](Context& comm) {
      ops::convert(comm, gpu_x, wire, 0.5f);
      ops::convert(comm, wire, back, 2.0f);
      ops::axpy(comm, 1, gpu_x, back);
    });
    bench_.gpu.comm().record(done);
    bench_.gpu.compute().wait(done);
  });
  Values expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = 2 * x[i];
  EXPECT_LT(error_of(back.download(), expected), tolerance_of(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Types, AxpyCuda, ::testing::Values(DType::f32, DType::bf16, DType::f16),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

TEST(OrthonormalizeCuda, FollowsItsTwin) {
  Bench bench;
  using Size = std::pair<std::int64_t, std::int64_t>;
  for (const auto& [rows, columns] : std::initializer_list<Size>{{1, 1}, {7, 3}, {1023, 1}, {5003, 8}}) {
    Values matrix = bench.random(DType::f32, rows * columns);
    const auto gpu = bench.upload(DType::f32, {rows, columns}, matrix);
    ops::orthonormalize(bench.gpu, gpu);
    ops::orthonormalize(bench.cpu, host(matrix, {rows, columns}));
    EXPECT_LT(error_of(gpu.download(), matrix), tolerance_of(DType::f32)) << rows << " " << columns;
  }
}

TEST(OrthonormalizeCuda, MakesSomeDirectionOfDependentAndZeroColumns) {
  Bench bench;
  constexpr std::int64_t kRows = 300;
  Values matrix(kRows * 3);
  const Values drawn = bench.random(DType::f32, kRows);
  for (std::size_t i = 0; i < kRows; ++i) matrix[3 * i] = matrix[3 * i + 1] = drawn[i];  // the third is zero
  const auto gpu = bench.upload(DType::f32, {kRows, 3}, matrix);
  ops::orthonormalize(bench.gpu, gpu);
  const Values q = gpu.download();
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b <= a; ++b) {
      double dot = 0;
      for (std::size_t i = 0; i < kRows; ++i) dot += q[3 * i + a] * q[3 * i + b];
      EXPECT_NEAR(dot, a == b ? 1 : 0, 1e-5) << a << " " << b;
    }
}

}  // namespace
}  // namespace tandem

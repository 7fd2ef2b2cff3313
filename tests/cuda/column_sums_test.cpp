#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "core/ops/linear.h"
#include "tests/cuda/device_tensors.h"
#include "tests/cuda/replay.h"

// The gradient of a bias: the sums over the columns of dy.

namespace tandem {
namespace {

struct Sizes {
  std::int64_t rows, columns;
};
// Those of a layer; of an MNIST classifier; odd; one column; one row; few and wide rows; many and narrow
// ones.
constexpr Sizes kSizes[] = {{4096, 768}, {128, 10}, {131, 65}, {300, 1}, {1, 1003}, {7, 50304}, {70001, 8}};

using Case = std::tuple<DType, DType, Sizes>;  // dy, its sums, and how many

class ColumnSumsCuda : public ::testing::TestWithParam<Case> {
 protected:
  DType dtype = std::get<0>(GetParam()), gradient = std::get<1>(GetParam());
  Sizes s = std::get<2>(GetParam());
  double tolerance = tolerance_of(gradient);
  Bench bench;
  Values dy = bench.random(dtype, s.rows*s.columns), sums = bench.random(gradient, s.columns);
};

TEST_P(ColumnSumsCuda, AssignsAndAdds) {
  for (const Address address : {Address::aligned, Address::one_off}) {
    const auto gpu_dy = bench.upload(dtype, {s.rows, s.columns}, dy, address);
    for (const Write write : {Write::assign, Write::add}) {
      SCOPED_TRACE(fmt::format("{}, {}", address == Address::aligned ? "aligned" : "one off",
                               write == Write::assign ? "assign" : "add"));
      const auto gpu_sums = bench.poisoned(gradient, {s.columns}, address);
      Values twin = sums;
      if (write == Write::add) gpu_sums.upload(twin);
      ops::linear_backward_bias(bench.gpu, gpu_dy, gpu_sums, write);
      ops::linear_backward_bias(bench.cpu, host(dy, {s.rows, s.columns}), host(twin, {s.columns}), write);
      EXPECT_LT(error_of(gpu_sums.download(), twin), tolerance);
    }
  }
}

/// In every run, and in a graph's.
TEST_P(ColumnSumsCuda, SameBits) {
  const auto gpu_dy = bench.upload(dtype, {s.rows, s.columns}, dy);
  const auto eager = bench.poisoned(gradient, {s.columns}), again = bench.poisoned(gradient, {s.columns});
  ops::linear_backward_bias(bench.gpu, gpu_dy, eager, Write::assign);
  ops::linear_backward_bias(bench.gpu, gpu_dy, again, Write::assign);
  EXPECT_EQ(again.bytes(), eager.bytes());
  again.poison();
  replay(bench.gpu, [&] { ops::linear_backward_bias(bench.gpu, gpu_dy, again, Write::assign); });
  EXPECT_EQ(again.bytes(), eager.bytes());
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const auto& [dtype, gradient, s] = info.param;
  return fmt::format("{}_to_{}_{}x{}", name_of(dtype), name_of(gradient), s.rows, s.columns);
}

INSTANTIATE_TEST_SUITE_P(F32, ColumnSumsCuda,
                         ::testing::Combine(::testing::Values(DType::f32), ::testing::Values(DType::f32),
                                            ::testing::ValuesIn(kSizes)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Bf16, ColumnSumsCuda,
                         ::testing::Combine(::testing::Values(DType::bf16),
                                            ::testing::Values(DType::bf16, DType::f32),
                                            ::testing::ValuesIn(kSizes)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(F16, ColumnSumsCuda,
                         ::testing::Combine(::testing::Values(DType::f16),
                                            ::testing::Values(DType::f16, DType::f32),
                                            ::testing::ValuesIn(kSizes)),
                         case_name);

TEST(ColumnSumsCudaOnce, NoRows) {
  Bench bench;
  const auto dy = bench.poisoned(DType::bf16, {0, 24});
  const auto sums = bench.poisoned(DType::f32, {24});
  ops::linear_backward_bias(bench.gpu, dy, sums, Write::assign);
  EXPECT_EQ(sums.download(), Values(24));
  sums.upload(Values(24, 2.5));
  ops::linear_backward_bias(bench.gpu, dy, sums, Write::add);
  EXPECT_EQ(sums.download(), Values(24, 2.5));
}

}  // namespace
}  // namespace tandem

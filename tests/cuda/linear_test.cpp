#include "core/ops/linear.h"

#include <string>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/ops/tuning.h"
#include "tests/cuda/device_tensors.h"
#include "tests/cuda/replay.h"

namespace tandem {
namespace {

constexpr double kTf32Tolerance = 1e-3;

struct Sizes {
  std::int64_t rows, in, out;
};
// Those of a layer; of an MNIST classifier; odd in all; rows too short for vectors; hardly any.
constexpr Sizes kSizes[] = {{256, 768, 3072}, {128, 784, 10}, {131, 33, 65}, {40, 24, 1004}, {1, 1, 8}};

class LinearCuda : public ::testing::TestWithParam<std::tuple<DType, Sizes>> {
 protected:
  DType dtype = std::get<0>(GetParam());
  Sizes s = std::get<1>(GetParam());
  double tolerance = tolerance_of(dtype);
  Bench bench;
  Values x = bench.random(dtype, s.rows*s.in), w = bench.random(dtype, s.out*s.in);
  Values b = bench.random(dtype, s.out), dy = bench.random(dtype, s.rows*s.out);
  DeviceTensor gpu_x = bench.upload(dtype, {s.rows, s.in}, x), gpu_w = bench.upload(dtype, {s.out, s.in}, w);
  DeviceTensor gpu_b = bench.upload(dtype, {s.out}, b), gpu_dy = bench.upload(dtype, {s.rows, s.out}, dy);
  Tensor cpu_x = host(x, {s.rows, s.in}), cpu_w = host(w, {s.out, s.in});
  Tensor cpu_b = host(b, {s.out}), cpu_dy = host(dy, {s.rows, s.out});
};

TEST_P(LinearCuda, Forward) {
  const Shape shape{s.rows, s.out};
  Values addend = bench.random(dtype, shape.numel()), y(addend.size());
  for (const bool has_bias : {false, true})
    for (const std::string added : {"nothing", "another", "itself"}) {
      SCOPED_TRACE(added + (has_bias ? " and a bias" : ""));
      const DeviceTensor gpu_added = added == "nothing" ? DeviceTensor() : bench.upload(dtype, shape, addend);
      const DeviceTensor another = bench.poisoned(dtype, shape);
      const DeviceTensor& gpu_y = added == "itself" ? gpu_added : another;
      ops::linear_forward(bench.gpu, gpu_x, gpu_w, has_bias ? gpu_b : Tensor(), gpu_added, gpu_y);
      ops::linear_forward(bench.cpu, cpu_x, cpu_w, has_bias ? cpu_b : Tensor(),
                          added == "nothing" ? Tensor() : host(addend, shape), host(y, shape));
      EXPECT_LT(error_of(gpu_y.download(), y), tolerance);
    }
}

TEST_P(LinearCuda, GeluForward) {
  const Shape shape{s.rows, s.out};
  Values pre(shape.numel()), y(pre.size());
  for (const bool has_bias : {false, true}) {
    const DeviceTensor gpu_pre = bench.poisoned(dtype, shape), gpu_y = bench.poisoned(dtype, shape);
    ops::linear_gelu_forward(bench.gpu, gpu_x, gpu_w, has_bias ? gpu_b : Tensor(), gpu_pre, gpu_y);
    ops::linear_gelu_forward(bench.cpu, cpu_x, cpu_w, has_bias ? cpu_b : Tensor(), host(pre, shape),
                             host(y, shape));
    EXPECT_LT(error_of(gpu_pre.download(), pre), tolerance);
    EXPECT_LT(error_of(gpu_y.download(), y), tolerance);
  }
}

TEST_P(LinearCuda, BackwardInput) {
  const Shape shape{s.rows, s.in};
  Values dx = bench.random(dtype, shape.numel());
  const DeviceTensor added = bench.upload(dtype, shape, dx), assigned = bench.poisoned(dtype, shape);
  ops::linear_backward_input(bench.gpu, gpu_dy, gpu_w, added, Write::add);
  ops::linear_backward_input(bench.cpu, cpu_dy, cpu_w, host(dx, shape), Write::add);
  EXPECT_LT(error_of(added.download(), dx), tolerance);
  ops::linear_backward_input(bench.gpu, gpu_dy, gpu_w, assigned);
  ops::linear_backward_input(bench.cpu, cpu_dy, cpu_w, host(dx, shape));
  EXPECT_LT(error_of(assigned.download(), dx), tolerance);
}

TEST_P(LinearCuda, GeluBackwardInput) {
  const Shape shape{s.rows, s.in};
  Values pre = bench.random(dtype, shape.numel()), dpre(pre.size());
  const DeviceTensor gpu_pre = bench.upload(dtype, shape, pre), gpu_dpre = bench.poisoned(dtype, shape);
  ops::linear_gelu_backward_input(bench.gpu, gpu_dy, gpu_w, gpu_pre, gpu_dpre);
  ops::linear_gelu_backward_input(bench.cpu, cpu_dy, cpu_w, host(pre, shape), host(dpre, shape));
  EXPECT_LT(error_of(gpu_dpre.download(), dpre), tolerance);
  EXPECT_EQ(gpu_pre.download(), pre);
}

TEST_P(LinearCuda, BackwardWeight) {
  const Shape shape{s.out, s.in};
  for (const DType gradient : {dtype, DType::f32}) {
    Values dw = bench.random(gradient, shape.numel());
    const DeviceTensor added = bench.upload(gradient, shape, dw), assigned = bench.poisoned(gradient, shape);
    ops::linear_backward_weight(bench.gpu, gpu_dy, gpu_x, added, Write::add);
    ops::linear_backward_weight(bench.cpu, cpu_dy, cpu_x, host(dw, shape), Write::add);
    EXPECT_LT(error_of(added.download(), dw), tolerance_of(gradient));
    ops::linear_backward_weight(bench.gpu, gpu_dy, gpu_x, assigned, Write::assign);
    ops::linear_backward_weight(bench.cpu, cpu_dy, cpu_x, host(dw, shape), Write::assign);
    EXPECT_LT(error_of(assigned.download(), dw), tolerance_of(gradient));
  }
}

/// Operands that lie one element off.
TEST_P(LinearCuda, UnalignedAddresses) {
  const Shape shape{s.rows, s.out};
  Values pre(shape.numel()), y(pre.size());
  const DeviceTensor off_x = bench.upload(dtype, {s.rows, s.in}, x, Address::one_off);
  const DeviceTensor off_w = bench.upload(dtype, {s.out, s.in}, w, Address::one_off);
  const DeviceTensor off_b = bench.upload(dtype, {s.out}, b, Address::one_off);
  const DeviceTensor gpu_pre = bench.poisoned(dtype, shape, Address::one_off);
  const DeviceTensor gpu_y = bench.poisoned(dtype, shape, Address::one_off);
  ops::linear_gelu_forward(bench.gpu, off_x, off_w, off_b, gpu_pre, gpu_y);
  ops::linear_gelu_forward(bench.cpu, cpu_x, cpu_w, cpu_b, host(pre, shape), host(y, shape));
  EXPECT_LT(error_of(gpu_pre.download(), pre), tolerance);
  EXPECT_LT(error_of(gpu_y.download(), y), tolerance);
}

/// Timing leaves the results what they are, also where a product adds to its own output; and what one context
/// chose, another takes over to the bit.
TEST_P(LinearCuda, Tuning) {
  const Shape shape{s.rows, s.out};
  Values y = bench.random(dtype, shape.numel()), dw = bench.random(DType::f32, s.out * s.in);
  const auto run = [&](Context& context) {
    DeviceTensor gpu_y = bench.upload(dtype, shape, y);
    DeviceTensor gpu_dw = bench.upload(DType::f32, {s.out, s.in}, dw);
    ops::linear_forward(context, gpu_x, gpu_w, gpu_b, gpu_y, gpu_y);
    ops::linear_backward_weight(context, gpu_dy, gpu_x, gpu_dw, Write::add);
    context.compute().synchronize();
    return std::pair{std::move(gpu_y), std::move(gpu_dw)};
  };
  EXPECT_EQ(ops::tuned_algorithms(bench.gpu), "");
  ops::set_tuning(bench.gpu, ops::Tuning::on);
  const auto [gpu_y, gpu_dw] = run(bench.gpu);
  Context other = Context::cuda(0);
  ops::use_algorithms(other, ops::tuned_algorithms(bench.gpu));
  const auto [other_y, other_dw] = run(other);
  EXPECT_EQ(gpu_y.bytes(), other_y.bytes());
  EXPECT_EQ(gpu_dw.bytes(), other_dw.bytes());
  EXPECT_EQ(ops::tuned_algorithms(bench.gpu), ops::tuned_algorithms(other));

  ops::linear_forward(bench.cpu, cpu_x, cpu_w, cpu_b, host(y, shape), host(y, shape));
  ops::linear_backward_weight(bench.cpu, cpu_dy, cpu_x, host(dw, {s.out, s.in}), Write::add);
  EXPECT_LT(error_of(gpu_y.download(), y), tolerance);
  EXPECT_LT(error_of(gpu_dw.download(), dw), tolerance_of(DType::f32));
}

/// A captured call, replayed, gives the bits of an eager one.
TEST_P(LinearCuda, Capture) {
  const Shape shape{s.rows, s.out};
  const DeviceTensor pre = bench.poisoned(dtype, shape);
  const DeviceTensor eager = bench.poisoned(dtype, shape), replayed = bench.poisoned(dtype, shape);
  ops::linear_gelu_forward(bench.gpu, gpu_x, gpu_w, gpu_b, pre, eager);
  replay(bench.gpu, [&] { ops::linear_gelu_forward(bench.gpu, gpu_x, gpu_w, gpu_b, pre, replayed); });
  EXPECT_EQ(replayed.bytes(), eager.bytes());
}

std::string case_name(const ::testing::TestParamInfo<std::tuple<DType, Sizes>>& info) {
  const auto& [dtype, s] = info.param;
  return fmt::format("{}_{}x{}x{}", name_of(dtype), s.rows, s.in, s.out);
}

INSTANTIATE_TEST_SUITE_P(All, LinearCuda,
                         ::testing::Combine(::testing::Values(DType::f32, DType::bf16, DType::f16),
                                            ::testing::ValuesIn(kSizes)),
                         case_name);

TEST(LinearCudaOnce, Tf32) {
  Bench bench(true);
  const Shape shape{64, 96};
  Values x = bench.random(DType::f32, 64 * 512), w = bench.random(DType::f32, 96 * 512), y(shape.numel());
  const DeviceTensor gpu_x = bench.upload(DType::f32, {64, 512}, x);
  const DeviceTensor gpu_w = bench.upload(DType::f32, {96, 512}, w),
                     gpu_y = bench.poisoned(DType::f32, shape);
  ops::linear_forward(bench.gpu, gpu_x, gpu_w, {}, {}, gpu_y);
  ops::linear_forward(bench.cpu, host(x, {64, 512}), host(w, {96, 512}), {}, {}, host(y, shape));
  const double error = error_of(gpu_y.download(), y);
  EXPECT_LT(error, kTf32Tolerance);
  EXPECT_GT(error, tolerance_of(DType::f32));  // it is TF32
}

TEST(LinearCudaOnce, NoRows) {
  Bench bench;
  const DeviceTensor x = bench.poisoned(DType::bf16, {0, 16}), dy = bench.poisoned(DType::bf16, {0, 24});
  const DeviceTensor w = bench.poisoned(DType::bf16, {24, 16}), b = bench.poisoned(DType::bf16, {24});
  const DeviceTensor dw = bench.poisoned(DType::f32, {24, 16});
  ops::linear_forward(bench.gpu, x, w, b, {}, dy);
  ops::linear_gelu_forward(bench.gpu, x, w, b, dy, dy);
  ops::linear_backward_input(bench.gpu, dy, w, x);
  ops::linear_gelu_backward_input(bench.gpu, dy, w, x, x);
  ops::linear_backward_weight(bench.gpu, dy, x, dw, Write::assign);
  ops::linear_backward_weight(bench.gpu, dy, x, dw, Write::add);
  EXPECT_EQ(dw.download(), Values(24 * 16));
}

TEST(LinearCudaOnce, AlgorithmsThatCannotBeRead) {
  Bench bench;
  EXPECT_THROW(ops::use_algorithms(bench.gpu, "not JSON"), DataError);
  ops::use_algorithms(bench.gpu, R"({"device":"another GPU","cublaslt":0})");
  EXPECT_EQ(ops::tuned_algorithms(bench.gpu), "");
}

}  // namespace
}  // namespace tandem

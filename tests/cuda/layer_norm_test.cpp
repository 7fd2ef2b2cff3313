#include "core/ops/layer_norm.h"

#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda/device_tensors.h"
#include "tests/cuda/replay.h"

namespace tandem {
namespace {

struct Sizes {
  std::int64_t rows, columns;
};
// More rows than are under way at a time; the widths of GPT-2's sizes; less than a warp's; odd; one column;
// wider than what is kept in registers, in vectors and odd.
constexpr Sizes kSizes[] = {{409, 768}, {65, 1024}, {50, 1280}, {33, 1600}, {70, 2048}, {1, 8},
                            {130, 40},  {131, 33},  {9, 1},     {7, 2056},  {6, 8200},  {5, 3001}};

using Case = std::tuple<DType, Sizes>;

/// What backward is asked for; the others are left out.
struct Wanted {
  bool dx = true, dweight = true, dbias = true;
};

/// A layer's values, those of the twin in f64 and the GPU's. The GPU's backward reads the twin's mean and
/// rstd.
class LayerNormCuda : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    for (double& value : x) value += 3;  // a mean that counts
    x = read(dtype, stored(dtype, x));
    ops::layer_norm_forward(bench.cpu, host(x, shape), host(weight, width), host(bias, width), host(y, shape),
                            host(mean, {s.rows}), host(rstd, {s.rows}));
  }

  /// The GPU's inputs.
  struct Inputs {
    DeviceTensor x, weight, bias, dy, mean, rstd;
  };
  Inputs upload(Address address = Address::aligned) {
    return {bench.upload(dtype, shape, x, address),
            bench.upload(dtype, width, weight, address),
            bench.upload(dtype, width, bias, address),
            bench.upload(dtype, shape, dy, address),
            bench.upload(DType::f32, {s.rows}, mean, address),
            bench.upload(DType::f32, {s.rows}, rstd, address)};
  }

  /// Runs both and compares. What is added to is the same random numbers on both sides.
  void expect_backward(const Inputs& gpu, DType gradient, Write write, Wanted wanted = {},
                       Address address = Address::aligned) {
    Values dx = bench.random(dtype, shape.numel()), dweight = bench.random(gradient, s.columns);
    Values dbias = bench.random(gradient, s.columns);
    const bool add = write == Write::add;
    const auto output = [&](bool is_wanted, DType type, const Shape& of, const Values& old) {
      if (!is_wanted) return DeviceTensor();
      return add ? bench.upload(type, of, old, address) : bench.poisoned(type, of, address);
    };
    const auto gpu_dx = output(wanted.dx, dtype, shape, dx);
    const auto gpu_dweight = output(wanted.dweight, gradient, width, dweight);
    const auto gpu_dbias = output(wanted.dbias, gradient, width, dbias);
    ops::layer_norm_backward(bench.gpu, gpu.dy, gpu.x, gpu.weight, gpu.mean, gpu.rstd, {gpu_dx, write},
                             {gpu_dweight, write}, {gpu_dbias, write});
    ops::layer_norm_backward(bench.cpu, host(dy, shape), host(x, shape), host(weight, width),
                             host(mean, {s.rows}), host(rstd, {s.rows}), {host(dx, shape), write},
                             {host(dweight, width), write}, {host(dbias, width), write});
    if (wanted.dx) {
      EXPECT_LT(error_of(gpu_dx.download(), dx), tolerance_of(dtype));
    }
    if (wanted.dweight) {
      EXPECT_LT(error_of(gpu_dweight.download(), dweight), tolerance_of(gradient));
    }
    if (wanted.dbias) {
      EXPECT_LT(error_of(gpu_dbias.download(), dbias), tolerance_of(gradient));
    }
  }

  DType dtype = std::get<0>(GetParam());
  Sizes s = std::get<1>(GetParam());
  Shape shape{s.rows, s.columns}, width{s.columns};
  Bench bench;
  Values x = bench.random(dtype, shape.numel(), 2), dy = bench.random(dtype, shape.numel());
  Values weight = bench.random(dtype, s.columns), bias = bench.random(dtype, s.columns);
  Values y = Values(x.size()), mean = Values(s.rows), rstd = Values(s.rows);
};

TEST_P(LayerNormCuda, Forward) {
  for (const Address address : {Address::aligned, Address::one_off}) {
    const Inputs gpu = upload(address);
    const auto gpu_y = bench.poisoned(dtype, shape, address);
    const auto gpu_mean = bench.poisoned(DType::f32, {s.rows}),
               gpu_rstd = bench.poisoned(DType::f32, {s.rows});
    ops::layer_norm_forward(bench.gpu, gpu.x, gpu.weight, gpu.bias, gpu_y, gpu_mean, gpu_rstd);
    EXPECT_LT(error_of(gpu_y.download(), y), tolerance_of(dtype));
    EXPECT_LT(error_of(gpu_mean.download(), mean), tolerance_of(DType::f32));
    EXPECT_LT(error_of(gpu_rstd.download(), rstd), tolerance_of(DType::f32));
  }
}

TEST_P(LayerNormCuda, Backward) {
  for (const Address address : {Address::aligned, Address::one_off}) {
    const Inputs gpu = upload(address);
    for (const DType gradient : {dtype, DType::f32})
      for (const Write write : {Write::assign, Write::add}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", address == Address::aligned ? "aligned" : "one off",
                                 name_of(gradient), write == Write::assign ? "assign" : "add"));
        expect_backward(gpu, gradient, write, {}, address);
      }
  }
}

TEST_P(LayerNormCuda, BackwardOfSome) {
  const Inputs gpu = upload();
  for (const bool dx : {false, true})
    for (const bool dweight : {false, true})
      for (const bool dbias : {false, true}) {
        SCOPED_TRACE(fmt::format("dx {}, dweight {}, dbias {}", dx, dweight, dbias));
        expect_backward(gpu, dtype, Write::assign, {dx, dweight, dbias});
      }
}

/// dx may be dy; and the bits are the same in every run and in a graph's.
TEST_P(LayerNormCuda, InPlaceAndSameBits) {
  const Inputs gpu = upload();
  const auto dweight = bench.poisoned(DType::f32, width), dbias = bench.poisoned(DType::f32, width);
  const auto dx = bench.poisoned(dtype, shape);
  const auto run = [&](const Tensor& to) {
    ops::layer_norm_backward(bench.gpu, gpu.dy, gpu.x, gpu.weight, gpu.mean, gpu.rstd, {to}, {dweight},
                             {dbias});
  };
  const auto results = [&](const DeviceTensor& to) {
    const std::vector<Bytes> all{to.bytes(), dweight.bytes(), dbias.bytes()};
    for (const DeviceTensor* output : {&dx, &dweight, &dbias}) output->poison();
    return all;
  };
  run(dx);
  const auto first = results(dx);
  run(dx);
  EXPECT_TRUE(results(dx) == first);
  replay(bench.gpu, [&] { run(dx); });
  EXPECT_TRUE(results(dx) == first);
  run(gpu.dy);
  EXPECT_TRUE(results(gpu.dy) == first);
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const auto& [dtype, s] = info.param;
  return fmt::format("{}_{}x{}", name_of(dtype), s.rows, s.columns);
}

INSTANTIATE_TEST_SUITE_P(All, LayerNormCuda,
                         ::testing::Combine(::testing::Values(DType::f32, DType::bf16, DType::f16),
                                            ::testing::ValuesIn(kSizes)),
                         case_name);

TEST(LayerNormCudaOnce, NoRows) {
  Bench bench;
  const auto x = bench.poisoned(DType::bf16, {0, 24}), parameter = bench.poisoned(DType::bf16, {24});
  const auto moment = bench.poisoned(DType::f32, {0}), gradient = bench.poisoned(DType::f32, {24});
  ops::layer_norm_forward(bench.gpu, x, parameter, parameter, x, moment, moment);
  ops::layer_norm_backward(bench.gpu, x, x, parameter, moment, moment, {x}, {gradient}, {});
  ops::layer_norm_backward(bench.gpu, x, x, parameter, moment, moment, {x}, {gradient, Write::add}, {});
  EXPECT_EQ(gradient.download(), Values(24));
}

}  // namespace
}  // namespace tandem

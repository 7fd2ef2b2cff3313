#include "core/ops/embedding.h"

#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda/device_tensors.h"
#include "tests/cuda/replay.h"

namespace tandem {
namespace {

struct Sizes {
  std::int64_t batch, sequence, places, vocabulary, width;
};
// Words; bytes, many of one kind; runs that are all of the tokens; just a piece's end; more sequences than
// are under way at a time; odd; hardly any.
constexpr Sizes kSizes[] = {{8, 96, 128, 1000, 768}, {3, 700, 700, 50304, 40}, {16, 1024, 1024, 256, 24},
                            {1, 5000, 5000, 1, 16},  {4, 64, 64, 2, 2056},     {150, 3, 5, 40, 64},
                            {5, 7, 9, 11, 33},       {131, 17, 17, 90, 1},     {1, 1, 1, 1, 8}};

using Case = std::tuple<DType, Sizes>;

class EmbeddingCuda : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::mt19937_64 random(11);
    const auto vocabulary = static_cast<std::uint64_t>(s.vocabulary);
    for (std::int64_t i = 0; i < tokens.numel(); ++i) {
      const bool frequent = random() % 2 == 0;  // half of them are one of the last three
      ids.push_back(static_cast<std::int32_t>(frequent ? (vocabulary * 3 - 1 - random() % 3) % vocabulary
                                                       : random() % vocabulary));
    }
  }
  Tensor host_ids() { return Tensor::of(ids.data(), tokens); }
  DeviceTensor upload_ids() { return bench.upload(DType::i32, tokens, Values(ids.begin(), ids.end())); }

  /// Compares a gradient [rows, width] as `backward(context, dy, gradient, write)` makes it.
  template <class Backward>
  void expect_gradient(std::int64_t rows, Backward&& backward) {
    const Shape of{rows, s.width};
    for (const Address address : {Address::aligned, Address::one_off}) {
      const auto gpu_dy = bench.upload(dtype, shape, dy, address);
      for (const DType gradient : {dtype, DType::f32})
        for (const Write write : {Write::assign, Write::add}) {
          SCOPED_TRACE(fmt::format("{}, {}, {}", address == Address::aligned ? "aligned" : "one off",
                                   name_of(gradient), write == Write::assign ? "assign" : "add"));
          Values twin = bench.random(gradient, of.numel());
          const auto gpu = bench.poisoned(gradient, of, address);
          if (write == Write::add) gpu.upload(twin);
          backward(bench.gpu, gpu_dy, gpu, write);
          backward(bench.cpu, host(dy, shape), host(twin, of), write);
          EXPECT_LT(error_of(gpu.download(), twin), tolerance_of(gradient));
        }
    }
  }

  DType dtype = std::get<0>(GetParam());
  Sizes s = std::get<1>(GetParam());
  Shape tokens{s.batch, s.sequence}, shape{s.batch, s.sequence, s.width};
  Bench bench;
  Values dy = bench.random(dtype, shape.numel());
  std::vector<std::int32_t> ids;
};

TEST_P(EmbeddingCuda, Forward) {
  const Shape table_shape{s.vocabulary, s.width}, places{s.places, s.width};
  Values table = bench.random(dtype, table_shape.numel()), positions = bench.random(dtype, places.numel());
  Values y(dy.size());
  ops::embedding_forward(bench.cpu, host_ids(), host(table, table_shape), host(positions, places),
                         host(y, shape));
  for (const Address address : {Address::aligned, Address::one_off}) {
    const auto gpu_y = bench.poisoned(dtype, shape, address);
    ops::embedding_forward(bench.gpu, upload_ids(), bench.upload(dtype, table_shape, table, address),
                           bench.upload(dtype, places, positions, address), gpu_y);
    EXPECT_LT(error_of(gpu_y.download(), y), tolerance_of(dtype));
  }
}

TEST_P(EmbeddingCuda, BackwardTable) {
  const DeviceTensor gpu_ids = upload_ids();
  expect_gradient(s.vocabulary, [&](Context& context, const Tensor& of, const Tensor& gradient, Write write) {
    const bool gpu = context.device().kind == DeviceKind::cuda;
    ops::embedding_backward_table(context, gpu ? gpu_ids.tensor() : host_ids(), of, gradient, write);
  });
}

TEST_P(EmbeddingCuda, BackwardPositions) {
  expect_gradient(s.places, [](Context& context, const Tensor& of, const Tensor& gradient, Write write) {
    ops::embedding_backward_positions(context, of, gradient, write);
  });
}

/// A captured call, replayed, gives the bits of an eager one.
TEST_P(EmbeddingCuda, Replay) {
  const Shape table_shape{s.vocabulary, s.width}, places{s.places, s.width};
  const auto gpu_ids = upload_ids(), gpu_dy = bench.upload(dtype, shape, dy);
  const auto run = [&](const Tensor& dtable, const Tensor& dpositions) {
    ops::embedding_backward_table(bench.gpu, gpu_ids, gpu_dy, dtable, Write::assign);
    ops::embedding_backward_positions(bench.gpu, gpu_dy, dpositions, Write::assign);
  };
  const auto eager_table = bench.poisoned(dtype, table_shape),
             eager_positions = bench.poisoned(dtype, places);
  const auto replayed_table = bench.poisoned(dtype, table_shape);
  const auto replayed_positions = bench.poisoned(dtype, places);
  run(eager_table, eager_positions);
  replay(bench.gpu, [&] { run(replayed_table, replayed_positions); });
  EXPECT_EQ(replayed_table.bytes(), eager_table.bytes());
  EXPECT_EQ(replayed_positions.bytes(), eager_positions.bytes());
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const auto& [dtype, s] = info.param;
  return fmt::format("{}_{}x{}_{}x{}", name_of(dtype), s.batch, s.sequence, s.vocabulary, s.width);
}

INSTANTIATE_TEST_SUITE_P(All, EmbeddingCuda,
                         ::testing::Combine(::testing::Values(DType::f32, DType::bf16, DType::f16),
                                            ::testing::ValuesIn(kSizes)),
                         case_name);

TEST(EmbeddingCudaOnce, NoTokens) {
  Bench bench;
  const auto ids = bench.poisoned(DType::i32, {0, 6}), y = bench.poisoned(DType::bf16, {0, 6, 16});
  const auto table = bench.poisoned(DType::bf16, {9, 16}), positions = bench.poisoned(DType::bf16, {6, 16});
  ops::embedding_forward(bench.gpu, ids, table, positions, y);
  for (const Write write : {Write::assign, Write::add}) {  // to add nothing changes nothing
    ops::embedding_backward_table(bench.gpu, ids, y, table, write);
    ops::embedding_backward_positions(bench.gpu, y, positions, write);
    EXPECT_EQ(table.download(), Values(9 * 16));
    EXPECT_EQ(positions.download(), Values(6 * 16));
  }
}

}  // namespace
}  // namespace tandem

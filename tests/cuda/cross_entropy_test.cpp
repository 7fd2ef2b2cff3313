#include "core/ops/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda/device_tensors.h"
#include "tests/cuda/replay.h"

namespace tandem {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLossTolerance = 1e-5;  // of the sum: it is computed in f32 from what the type can hold
constexpr double kSeed = 0.37;

struct Sizes {
  std::int64_t rows, columns, classes;
};
// GPT-2's padded vocabulary; digits; bytes; padding that is more than a vector, and less; odd; hardly any;
// rows too long for shared memory, in vectors and odd.
constexpr Sizes kSizes[] = {{37, 50304, 50257}, {128, 10, 10},       {301, 256, 256},
                            {70, 320, 257},     {65, 264, 260},      {33, 1003, 1000},
                            {9, 1, 1},          {3, 131072, 131070}, {4, 120001, 120001}};

using Case = std::tuple<DType, Sizes>;

/// Logits whose padding and whose rows that do not count are NaN; of the others every third is right.
class CrossEntropyCuda : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::mt19937_64 random(7);
    for (std::int64_t row = 0; row < s.rows; ++row) {
      const auto begin = logits.begin() + row * s.columns, end = begin + s.classes;
      std::int64_t target = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(s.classes));
      if (row % 3 == 0) target = std::max_element(begin, end) - begin;  // the first on ties
      if (row % 5 == 3) target = -1;
      targets.push_back(static_cast<std::int32_t>(target));
      std::fill(target < 0 ? begin : end, begin + s.columns, kNan);
    }
    gradient = logits;
    ops::cross_entropy_forward_backward(bench.cpu, host(gradient, shape), s.classes, host_targets(),
                                        host(seed, {1}), host(loss, {1}), Tensor::of(&correct, {1}));
  }

  Tensor host_targets() { return Tensor::of(targets.data(), {s.rows}); }
  DeviceTensor upload_targets() {
    return bench.upload(DType::i32, {s.rows}, Values(targets.begin(), targets.end()));
  }

  DeviceTensor upload_logits(Address address = Address::aligned) {
    return bench.upload(dtype, shape, logits, address);
  }

  struct Results {
    DeviceTensor loss, correct;
  };
  Results results() { return {bench.poisoned(DType::f64, {1}), bench.poisoned(DType::i64, {1})}; }
  void expect_results(const Results& gpu) {
    EXPECT_LT(error_of(gpu.loss.download(), loss), kLossTolerance);
    EXPECT_EQ(gpu.correct.download(), Values{static_cast<double>(correct)});
  }
  void expect_gradient(const DeviceTensor& gpu) {
    const Values ours = gpu.download();
    EXPECT_LT(error_of(ours, gradient), tolerance_of(dtype));
    for (std::int64_t i = 0; i < shape.numel(); ++i)
      if (i % s.columns >= s.classes || targets[i / s.columns] < 0) {
        ASSERT_EQ(ours[i], 0) << "row " << i / s.columns << ", column " << i % s.columns;
      }
  }

  DType dtype = std::get<0>(GetParam());
  Sizes s = std::get<1>(GetParam());
  Shape shape{s.rows, s.columns};
  Bench bench;
  Values logits = bench.random(dtype, shape.numel(), 3), gradient, seed{kSeed}, loss = Values(1);
  std::vector<std::int32_t> targets;
  std::int64_t correct = 0;
};

TEST_P(CrossEntropyCuda, ForwardBackward) {
  for (const Address address : {Address::aligned, Address::one_off}) {
    const DeviceTensor gpu_logits = upload_logits(address);
    const Results gpu = results();
    ops::cross_entropy_forward_backward(bench.gpu, gpu_logits, s.classes, upload_targets(),
                                        bench.upload(DType::f64, {1}, seed), gpu.loss, gpu.correct);
    expect_results(gpu);
    expect_gradient(gpu_logits);
  }
}

TEST_P(CrossEntropyCuda, ForwardLeavesTheLogits) {
  for (const Address address : {Address::aligned, Address::one_off}) {
    const DeviceTensor gpu_logits = upload_logits(address);
    const Results gpu = results();
    ops::cross_entropy_forward(bench.gpu, gpu_logits, s.classes, upload_targets(), gpu.loss, gpu.correct);
    expect_results(gpu);
    EXPECT_EQ(gpu_logits.bytes(), stored(dtype, logits));
  }
}

/// A captured call, replayed, gives the bits of an eager one.
TEST_P(CrossEntropyCuda, Replay) {
  const DeviceTensor eager_logits = upload_logits();
  const DeviceTensor replayed_logits = upload_logits();
  const DeviceTensor gpu_targets = upload_targets(), gpu_seed = bench.upload(DType::f64, {1}, seed);
  const Results eager = results(), replayed = results();
  ops::cross_entropy_forward_backward(bench.gpu, eager_logits, s.classes, gpu_targets, gpu_seed, eager.loss,
                                      eager.correct);
  replay(bench.gpu, [&] {
    ops::cross_entropy_forward_backward(bench.gpu, replayed_logits, s.classes, gpu_targets, gpu_seed,
                                        replayed.loss, replayed.correct);
  });
  EXPECT_EQ(replayed_logits.bytes(), eager_logits.bytes());
  EXPECT_EQ(replayed.loss.bytes(), eager.loss.bytes());
  EXPECT_EQ(replayed.correct.bytes(), eager.correct.bytes());
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const auto& [dtype, s] = info.param;
  return fmt::format("{}_{}x{}_{}", name_of(dtype), s.rows, s.columns, s.classes);
}

INSTANTIATE_TEST_SUITE_P(All, CrossEntropyCuda,
                         ::testing::Combine(::testing::Values(DType::f32, DType::bf16, DType::f16),
                                            ::testing::ValuesIn(kSizes)),
                         case_name);

/// What a call without seed makes of one row.
struct Outcome {
  double loss, correct;
};
Outcome outcome_of(Bench& bench, const Values& row, std::int32_t target) {
  const auto columns = static_cast<std::int64_t>(row.size());
  const auto loss = bench.poisoned(DType::f64, {1}), correct = bench.poisoned(DType::i64, {1});
  ops::cross_entropy_forward(bench.gpu, bench.upload(DType::bf16, {1, columns}, row), columns,
                             bench.upload(DType::i32, {1}, {static_cast<double>(target)}), loss, correct);
  return {loss.download()[0], correct.download()[0]};
}

TEST(CrossEntropyCudaOnce, OnTiesTheFirstLargestLogitCounts) {
  Bench bench;
  for (const std::size_t size : {8, 13, 256, 5000})
    for (const std::size_t first : {std::size_t{0}, std::size_t{3}, size / 2}) {
      Values row(size, -1);
      row[first] = row[first + 1] = row[size - 1] = 2;
      SCOPED_TRACE(fmt::format("{} of {}", first, size));
      EXPECT_EQ(outcome_of(bench, row, static_cast<std::int32_t>(first)).correct, 1);
      EXPECT_EQ(outcome_of(bench, row, static_cast<std::int32_t>(first + 1)).correct, 0);
      EXPECT_EQ(outcome_of(bench, row, static_cast<std::int32_t>(size - 1)).correct, 0);
    }
}

TEST(CrossEntropyCudaOnce, ExtremeLogits) {
  Bench bench;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Values row(5000, -kInfinity);  // classes that cannot be
  row[4321] = row[17] = -20000;
  EXPECT_NEAR(outcome_of(bench, row, 4321).loss, std::log(2), 1e-6);
  row[4321] = 20480;
  EXPECT_EQ(outcome_of(bench, row, 4321).loss, 0);
  EXPECT_EQ(outcome_of(bench, row, 4321).correct, 1);
  EXPECT_EQ(outcome_of(bench, row, 18).loss, kInfinity);
  row[100] = kNan;
  EXPECT_TRUE(std::isnan(outcome_of(bench, row, 4321).loss));
}

TEST(CrossEntropyCudaOnce, NoRows) {
  Bench bench;
  const auto loss = bench.poisoned(DType::f64, {1}), correct = bench.poisoned(DType::i64, {1});
  ops::cross_entropy_forward_backward(bench.gpu, bench.poisoned(DType::bf16, {0, 16}), 16,
                                      bench.poisoned(DType::i32, {0}), bench.upload(DType::f64, {1}, {1}),
                                      loss, correct);
  EXPECT_EQ(loss.download(), Values{0});
  EXPECT_EQ(correct.download(), Values{0});
}

}  // namespace
}  // namespace tandem

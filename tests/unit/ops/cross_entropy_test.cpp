#include "core/ops/cross_entropy.h"

#include <cstring>
#include <utility>

#include "tests/unit/ops/ops_test.h"

namespace tandem {
namespace {

template <class T>
class CrossEntropyTest : public testing::Test {
 protected:
  Random random_;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CrossEntropyTest, Types);

/// Loss, hits and gradient of the first `classes` columns, in double.
struct CrossEntropy {
  template <class T>
  CrossEntropy(const Owned<T>& logits, std::int64_t classes, const Owned<std::int32_t>& targets, double seed)
      : gradient(logits.values.size()) {
    const std::int64_t rows = targets.numel(), columns = logits.numel() / rows;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t target = targets.values[static_cast<std::size_t>(r)];
      if (target < 0) continue;
      const auto logit = [&](std::int64_t c) { return logits[r * columns + c]; };
      double total = 0;
      std::int64_t best = 0;
      for (std::int64_t c = 0; c < classes; ++c) {
        total += std::exp(logit(c));
        if (logit(c) > logit(best)) best = c;
      }
      loss += std::log(total) - logit(target);
      hits += best == target;
      for (std::int64_t c = 0; c < classes; ++c)
        gradient[static_cast<std::size_t>(r * columns + c)] =
            seed * (std::exp(logit(c)) / total - (c == target));
    }
  }
  double loss = 0;
  std::int64_t hits = 0;
  Reference gradient;
};

/// A probability near 1 loses digits when the target's 1 is taken off it, so that errors are in proportion to
/// the seed, however small the gradient.
template <class T>
void expect_gradient(const Owned<T>& actual, const Reference& expected, double seed, const Random& random) {
  const double relative = sizeof(T) == 4 ? 1e-5 : 1e-12, lost = sizeof(T) == 4 ? 5e-7 : 1e-15;
  for (std::int64_t i = 0; i < actual.numel(); ++i)
    ASSERT_NEAR(actual[i], expected[i], relative * std::abs(expected[i]) + lost * seed)
        << "element " << i << "; seed " << random.seed();
}

TYPED_TEST(CrossEntropyTest, MatchesReference) {
  using T = TypeParam;
  Random& random = this->random_;
  for (const std::int64_t rows : {1, 3, 17, 127, 500})
    for (const std::int32_t classes : {1, 2, 10, 17, 256})
      for (const std::int64_t padding : {0, 13})
        for (const int threads : {1, 2}) {
          Context context = Context::cpu(threads);
          const std::int64_t columns = classes + padding;
          auto logits = random.normal<T>({rows, columns}, 3);
          auto targets = random.integers({rows}, classes);
          for (std::int64_t r = 0; r < rows; r += 5) targets[r] = -1;
          // In the padding lies what would show: NaN, or a largest logit.
          for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = classes; c < columns; ++c)
              logits[r * columns + c] = r % 2 ? std::numeric_limits<T>::quiet_NaN() : T(1e30);
          const double seed_value = 1.0 / static_cast<double>(rows);
          const CrossEntropy expected(logits, classes, targets, seed_value);
          Owned<double> loss_sum({1}, std::nan("")), seed({1}, seed_value);
          Owned<std::int64_t> correct({1}, -7);
          const auto before = logits.values;
          ops::cross_entropy_forward(context, logits, classes, targets, loss_sum, correct);
          const double tolerance = sizeof(T) == 4 ? 1e-6 : 1e-13;
          EXPECT_NEAR(loss_sum[0], expected.loss, tolerance * (expected.loss + static_cast<double>(rows)))
              << "seed " << random.seed();
          EXPECT_EQ(correct[0], expected.hits);
          EXPECT_EQ(std::memcmp(logits.values.data(), before.data(), sizeof(T) * before.size()), 0);
          const double forward_loss = std::as_const(loss_sum)[0];
          ops::cross_entropy_forward_backward(context, logits, classes, targets, seed, loss_sum, correct);
          EXPECT_EQ(loss_sum[0], forward_loss);
          EXPECT_EQ(correct[0], expected.hits);
          expect_gradient(logits, expected.gradient, seed_value, random);
          for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t c = targets[r] < 0 ? 0 : classes; c < columns; ++c)
              ASSERT_EQ(logits[r * columns + c], T(0)) << "row " << r << ", column " << c;
        }
}

TYPED_TEST(CrossEntropyTest, RowsThatDoNotCountContributeNothing) {
  using T = TypeParam;
  Context context = Context::cpu();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const auto good = this->random_.template normal<T>({1, 20});
  Owned<T> logits({3, 20}, nan);
  std::copy(good.values.begin(), good.values.end(), logits.values.begin() + 20);
  Owned<std::int32_t> targets({3}, -1), target({1}, 7);
  targets[1] = 7;
  Owned<double> seed({1}, 0.5), loss({1}), loss_alone({1});
  Owned<std::int64_t> correct({1}), correct_alone({1});
  ops::cross_entropy_forward(context, good, 20, target, loss_alone, correct_alone);
  ops::cross_entropy_forward_backward(context, logits, 20, targets, seed, loss, correct);
  EXPECT_EQ(loss.values, loss_alone.values);
  EXPECT_EQ(correct.values, correct_alone.values);
  for (const int row : {0, 2})
    for (int c = 0; c < 20; ++c) EXPECT_EQ(logits[row * 20 + c], T(0));

  Owned<std::int32_t> none({3}, -1);
  ops::cross_entropy_forward(context, logits, 20, none, loss, correct);
  EXPECT_EQ(loss[0], 0.0);
  EXPECT_EQ(correct[0], 0);
}

TYPED_TEST(CrossEntropyTest, TiesGoToTheFirstAndNaNIsSeen) {
  using T = TypeParam;
  Context context = Context::cpu();
  Owned<T> logits({2, 30}, T(1));
  Owned<std::int32_t> targets({2});
  targets[1] = 1;
  Owned<double> loss({1});
  Owned<std::int64_t> correct({1});
  ops::cross_entropy_forward(context, logits, 30, targets, loss, correct);
  EXPECT_EQ(correct[0], 1);
  EXPECT_NEAR(loss[0], 2 * std::log(30.0), 1e-5);
  logits[45] = std::numeric_limits<T>::quiet_NaN();
  ops::cross_entropy_forward(context, logits, 30, targets, loss, correct);
  EXPECT_TRUE(std::isnan(loss[0]));
}

TYPED_TEST(CrossEntropyTest, LogitsMayBeLarge) {
  using T = TypeParam;
  Context context = Context::cpu();
  Owned<T> logits({1, 3});
  logits[0] = T(10000), logits[1] = T(-10000), logits[2] = T(9999);
  const Owned<std::int32_t> targets({1}, 1);
  Owned<double> loss({1}), seed({1}, 1.0);
  Owned<std::int64_t> correct({1});
  ops::cross_entropy_forward_backward(context, logits, 3, targets, seed, loss, correct);
  EXPECT_NEAR(loss[0], 20000 + std::log1p(std::exp(-1.0)), 1e-2);
  EXPECT_EQ(logits[1], T(-1));
}

TEST(CrossEntropyErrors, TargetsAndShapesMustFit) {
  Context context = Context::cpu();
  const Owned<float> logits({4, 3});
  Owned<std::int32_t> targets({4});
  Owned<double> loss({1});
  Owned<std::int64_t> correct({1});
  for (const std::int32_t bad : {-2, 3}) {
    targets[2] = bad;
    EXPECT_THROW(ops::cross_entropy_forward(context, logits, 3, targets, loss, correct), ContractError);
  }
  targets[2] = 2;  // in the padding
  EXPECT_THROW(ops::cross_entropy_forward(context, logits, 2, targets, loss, correct), ContractError);
  targets[2] = 0;
  EXPECT_NO_THROW(ops::cross_entropy_forward(context, logits, 3, targets, loss, correct));
  for (const std::int64_t bad : {-1, 0, 4})
    EXPECT_THROW(ops::cross_entropy_forward(context, logits, bad, targets, loss, correct), ContractError);
  EXPECT_THROW(ops::cross_entropy_forward(context, logits, 3, Owned<std::int32_t>({3}), loss, correct),
               ContractError);
}

}  // namespace
}  // namespace tandem

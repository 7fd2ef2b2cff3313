#include "core/ops/update.h"

#include <array>

#include "tests/unit/ops/ops_test.h"

namespace tandem {
namespace {

using ops::Segment;

template <class T>
class UpdateTest : public testing::Test {
 protected:
  Random random_;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(UpdateTest, Types);

/// Segments of a flat memory of 100 000 elements, with padding between them and at the end.
constexpr std::int64_t kElements = 100000;
const std::array<Segment, 3> kSegments = {Segment{0, 1, 1.0f, 0.0f}, Segment{16, 127, 0.5f, 0.1f},
                                          Segment{160, 99000, 1.0f, 0.01f}};

template <class T>
Reference reference(const Owned<T>& t) {
  return {t.values.begin(), t.values.end()};
}

TYPED_TEST(UpdateTest, SgdMatchesReferenceOverThreeSteps) {
  using T = TypeParam;
  for (const double momentum : {0.0, 0.9})
    for (const bool nesterov : {false, true})
      for (const int threads : {1, 2}) {
        Context context = Context::cpu(threads);
        const auto value = this->random_.template normal<T>({kElements});
        const auto buffer = poisoned<T>({kElements});
        Reference x = reference(value), m(kElements, std::nan(""));
        for (int step = 0; step < 3; ++step) {
          const auto grad = this->random_.template normal<T>({kElements});
          const ops::SgdStep options{0.1, momentum, nesterov, step == 0, 0.25};
          for (const Segment& s : kSegments)
            for (std::int64_t i = s.offset; i < s.offset + s.count; ++i) {
              const double g = 0.25 * grad[i] + static_cast<double>(s.weight_decay) * x[i];
              m[i] = step == 0 ? g : momentum * m[i] + g;
              const double direction = momentum == 0 ? g : nesterov ? g + momentum * m[i] : m[i];
              x[i] -= 0.1 * static_cast<double>(s.lr_scale) * direction;
            }
          ops::sgd_update(context, options, kSegments, value, grad, momentum == 0 ? Tensor() : buffer.tensor);
        }
        expect_close(value, x, this->random_);  // padding included: it must not have moved
      }
}

TYPED_TEST(UpdateTest, AdamWMatchesReferenceOverThreeSteps) {
  using T = TypeParam;
  for (const int threads : {1, 2}) {
    Context context = Context::cpu(threads);
    const auto value = this->random_.template normal<T>({kElements});
    const Owned<T> m({kElements}), v({kElements});
    Reference x = reference(value), first(kElements), second(kElements);
    for (int step = 1; step <= 3; ++step) {
      const auto grad = this->random_.template normal<T>({kElements});
      const ops::AdamWStep options{1e-2, 0.9, 0.95, 1e-8, 1 - std::pow(0.9, step), 1 - std::pow(0.95, step),
                                   0.5};
      for (const Segment& s : kSegments)
        for (std::int64_t i = s.offset; i < s.offset + s.count; ++i) {
          const double g = 0.5 * grad[i], lr = 1e-2 * static_cast<double>(s.lr_scale);
          first[i] = 0.9 * first[i] + 0.1 * g;
          second[i] = 0.95 * second[i] + 0.05 * g * g;
          x[i] -= lr * (static_cast<double>(s.weight_decay) * x[i] +
                        first[i] / options.correction1 / (std::sqrt(second[i] / options.correction2) + 1e-8));
        }
      ops::adamw_update(context, options, kSegments, value, grad, m, v);
    }
    expect_close(value, x, this->random_);
    expect_close(m, first, this->random_);
    expect_close(v, second, this->random_);
  }
}

TYPED_TEST(UpdateTest, SumOfSquaresIsExactAndTheSameEverywhere) {
  using T = TypeParam;
  Context one = Context::cpu(1), two = Context::cpu(2);
  constexpr std::int64_t count = 1100000;  // more than one wave of chunks
  const auto grad = this->random_.template normal<T>({count + 64});
  const std::array<Segment, 3> segments = {Segment{3, count, 1, 0}, Segment{0, 0, 1, 0},
                                           Segment{1, 17, 1, 0}};
  std::array<double, 3> sums{}, again{};
  ops::sum_of_squares(one, segments, grad, sums);
  for (std::size_t s = 0; s < segments.size(); ++s) {
    long double expected = 0;
    for (std::int64_t i = 0; i < segments[s].count; ++i)
      expected += static_cast<long double>(grad[segments[s].offset + i]) * grad[segments[s].offset + i];
    EXPECT_NEAR(sums[s], static_cast<double>(expected), 1e-13 * static_cast<double>(expected));
  }
  ops::sum_of_squares(two, segments, grad, again);
  EXPECT_EQ(sums, again);
  // The same parameter elsewhere in memory, as in another bucket.
  Owned<T> moved({count + 64});
  std::copy_n(grad.values.begin() + 3, count, moved.values.begin() + 50);
  std::array<double, 1> at_another_place{};
  ops::sum_of_squares(one, std::array{Segment{50, count, 1, 0}}, moved, at_another_place);
  EXPECT_EQ(at_another_place[0], sums[0]);
}

TYPED_TEST(UpdateTest, NonFiniteGradientsShowInTheSum) {
  using T = TypeParam;
  Context context = Context::cpu();
  Owned<T> grad({40});
  grad[33] = std::numeric_limits<T>::infinity();
  std::array<double, 1> sums{};
  ops::sum_of_squares(context, std::array{Segment{0, 40, 1, 0}}, grad, sums);
  EXPECT_FALSE(std::isfinite(sums[0]));
}

TEST(UpdateErrors, SegmentsAndSizesMustFit) {
  Context context = Context::cpu();
  const Owned<float> value({8}), small({4});
  const std::array<Segment, 1> good = {Segment{0, 8, 1, 0}}, beyond = {Segment{4, 5, 1, 0}};
  std::array<double, 1> sum{};
  const ops::SgdStep sgd{0.1, 0.9, false, true, 1};
  const ops::AdamWStep adamw{0.1, 0.9, 0.95, 1e-8, 0.1, 0.05, 1};
  EXPECT_THROW(ops::sgd_update(context, sgd, beyond, value, value, Tensor()), ContractError);
  EXPECT_THROW(ops::sgd_update(context, sgd, good, value, small, Tensor()), ContractError);
  EXPECT_THROW(ops::sgd_update(context, sgd, good, value, value, small), ContractError);
  EXPECT_THROW(ops::adamw_update(context, adamw, beyond, value, value, value, value), ContractError);
  EXPECT_THROW(ops::adamw_update(context, adamw, good, value, value, small, value), ContractError);
  EXPECT_THROW(ops::sum_of_squares(context, beyond, value, sum), ContractError);
  EXPECT_THROW(ops::sum_of_squares(context, good, value, std::span<double>{}), ContractError);
}

}  // namespace
}  // namespace tandem

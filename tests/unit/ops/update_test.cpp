#include "core/ops/update.h"

#include <array>

#include "tests/unit/ops/ops_test.h"

namespace tandem {
namespace {

using ops::ChunkRange;
using ops::Segment;
using ops::SegmentTable;

template <class T>
class UpdateTest : public testing::Test {
 protected:
  Random random_;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(UpdateTest, Types);

/// Segments of a flat memory of 100 000 elements, with padding between them and at the end; the last takes
/// several chunks, of which the last is cut short.
constexpr std::int64_t kElements = 100000;
const std::array<Segment, 3> kSegments = {Segment{0, 1, 1.0f, 0.0f}, Segment{16, 127, 0.5f, 0.1f},
                                          Segment{160, 99000, 1.0f, 0.01f}};

template <class T>
Reference reference(const Owned<T>& t) {
  return {t.values.begin(), t.values.end()};
}

ChunkRange all(const SegmentTable& table) {
  return {table, 0, std::ssize(table.chunks())};
}

Owned<double> scalars(double lr, double grad_scale, int step) {
  Owned<double> made({ops::kScalars});
  made[ops::kLearningRate] = lr;
  made[ops::kGradScale] = grad_scale;
  made[ops::kStep] = step;
  return made;
}

TEST(SegmentTable, CutsSegmentsInOrderIntoChunks) {
  Context context = Context::cpu();
  constexpr std::int64_t kChunk = SegmentTable::kChunk;
  const std::array segments = {Segment{50000, 2 * kChunk + 5, 2, 0.5}, Segment{7, kChunk, 1, 0},
                               Segment{3, 0, 1, 0}, Segment{1, 2, 3, 0.25}};
  const SegmentTable table(context, segments);
  const std::vector<std::array<double, 4>> expected = {{50000, kChunk, 2, 0.5},
                                                       {50000 + kChunk, kChunk, 2, 0.5},
                                                       {50000 + 2 * kChunk, 5, 2, 0.5},
                                                       {7, kChunk, 1, 0},
                                                       {3, 0, 1, 0},
                                                       {1, 2, 3, 0.25}};
  std::vector<std::array<double, 4>> chunks, on_device;
  const auto numbers = [](const Segment& c) {
    return std::array<double, 4>{static_cast<double>(c.offset), static_cast<double>(c.count), c.lr_scale,
                                 c.weight_decay};
  };
  for (const Segment& chunk : table.chunks()) chunks.push_back(numbers(chunk));
  EXPECT_EQ(chunks, expected);
  for (std::size_t i = 0; i < chunks.size(); ++i) on_device.push_back(numbers(table.device_chunks()[i]));
  EXPECT_EQ(on_device, expected);
  EXPECT_TRUE(SegmentTable(context, {}).chunks().empty());
}

TYPED_TEST(UpdateTest, SgdMatchesReferenceOverThreeSteps) {
  using T = TypeParam;
  for (const double momentum : {0.0, 0.9})
    for (const bool nesterov : {false, true})
      for (const int threads : {1, 2}) {
        Context context = Context::cpu(threads);
        const SegmentTable table(context, kSegments);
        const auto value = this->random_.template normal<T>({kElements});
        const auto buffer = poisoned<T>({kElements});  // which the first step sets
        Reference x = reference(value), m(kElements, std::nan(""));
        for (int step = 1; step <= 3; ++step) {
          const auto grad = this->random_.template normal<T>({kElements});
          const double lr = 0.1 / step, scale = 0.25 * step;
          for (const Segment& s : kSegments)
            for (std::int64_t i = s.offset; i < s.offset + s.count; ++i) {
              const double g = scale * grad[i] + static_cast<double>(s.weight_decay) * x[i];
              m[i] = step == 1 ? g : momentum * m[i] + g;
              const double direction = momentum == 0 ? g : nesterov ? g + momentum * m[i] : m[i];
              x[i] -= lr * static_cast<double>(s.lr_scale) * direction;
            }
          ops::sgd_update(context, {momentum, nesterov}, scalars(lr, scale, step), all(table), value, value,
                          grad, momentum == 0 ? Tensor() : buffer.tensor);
        }
        expect_close(value, x, this->random_);  // padding included: it must not have moved
      }
}

TYPED_TEST(UpdateTest, AdamWMatchesReferenceOverThreeSteps) {
  using T = TypeParam;
  for (const int threads : {1, 2}) {
    Context context = Context::cpu(threads);
    const SegmentTable table(context, kSegments);
    const auto value = this->random_.template normal<T>({kElements});
    const Owned<T> m({kElements}), v({kElements});
    Reference x = reference(value), first(kElements), second(kElements);
    for (int step = 1; step <= 3; ++step) {
      const auto grad = this->random_.template normal<T>({kElements});
      const double lr = 1e-2 / step, scale = 0.5 * step;
      const double correction1 = 1 - std::pow(0.9, step), correction2 = 1 - std::pow(0.95, step);
      for (const Segment& s : kSegments)
        for (std::int64_t i = s.offset; i < s.offset + s.count; ++i) {
          const double g = scale * grad[i];
          first[i] = 0.9 * first[i] + 0.1 * g;
          second[i] = 0.95 * second[i] + 0.05 * g * g;
          x[i] -= lr * static_cast<double>(s.lr_scale) *
                  (static_cast<double>(s.weight_decay) * x[i] +
                   first[i] / correction1 / (std::sqrt(second[i] / correction2) + 1e-8));
        }
      ops::adamw_update(context, {0.9, 0.95, 1e-8}, scalars(lr, scale, step), all(table), value, value, grad,
                        m, v);
    }
    expect_close(value, x, this->random_);
    expect_close(m, first, this->random_);
    expect_close(v, second, this->random_);
  }
}

/// One replica updates all chunks at once, with two threads; the other a few at a time, the last first.
TYPED_TEST(UpdateTest, RangesOfChunksInAnyOrderEqualTheWholeBitwise) {
  using T = TypeParam;
  Context one = Context::cpu(1), two = Context::cpu(2);
  const SegmentTable table(one, kSegments);
  const std::int64_t chunks = std::ssize(table.chunks());
  ASSERT_EQ(chunks, 9);
  const auto sgd_whole = this->random_.template normal<T>({kElements});
  const Owned<T> sgd_parts = sgd_whole, adamw_whole = sgd_whole, adamw_parts = sgd_whole;
  const Owned<T> zeros({kElements});
  const Owned<T> momentum_whole = zeros, m_whole = zeros, v_whole = zeros;
  const Owned<T> momentum_parts = zeros, m_parts = zeros, v_parts = zeros;
  const auto update = [](Context& context, const Tensor& scalar, const ChunkRange& range, const Tensor& grad,
                         const Owned<T>& sgd, const Owned<T>& momentum, const Owned<T>& adamw,
                         const Owned<T>& m, const Owned<T>& v) {
    ops::sgd_update(context, {0.9, true}, scalar, range, sgd, sgd, grad, momentum);
    ops::adamw_update(context, {0.9, 0.95, 1e-8}, scalar, range, adamw, adamw, grad, m, v);
  };
  for (int step = 1; step <= 4; ++step) {
    const auto grad = this->random_.template normal<T>({kElements});
    const auto scalar = scalars(0.05, 0.7, step);
    update(two, scalar, all(table), grad, sgd_whole, momentum_whole, adamw_whole, m_whole, v_whole);
    for (std::int64_t end = chunks; end > 0;) {
      const std::int64_t count = std::min<std::int64_t>(step, end);
      end -= count;
      update(one, scalar, {table, end, count}, grad, sgd_parts, momentum_parts, adamw_parts, m_parts,
             v_parts);
    }
    ASSERT_EQ(sgd_parts.values, sgd_whole.values);
    ASSERT_EQ(adamw_parts.values, adamw_whole.values);
    ASSERT_EQ(v_parts.values, v_whole.values);
  }
}

TYPED_TEST(UpdateTest, ARangeLeavesTheOtherChunksAlone) {
  using T = TypeParam;
  Context context = Context::cpu();
  const SegmentTable table(context, kSegments);
  const auto value = this->random_.template normal<T>({kElements}), before = value;
  const Owned<T> grad({kElements}, T(1));
  const ChunkRange range{table, 1, 2};  // the second segment and the third's first chunk
  ops::sgd_update(context, {0, false}, scalars(0.1, 1, 1), {table, 4, 0}, value, value, grad, Tensor());
  EXPECT_EQ(value.values, before.values) << "an empty range";
  ops::sgd_update(context, {0, false}, scalars(0.1, 1, 1), range, value, value, grad, Tensor());
  for (std::int64_t i = 0; i < kElements; ++i) {
    const bool inside = (i >= 16 && i < 16 + 127) || (i >= 160 && i < 160 + SegmentTable::kChunk);
    ASSERT_EQ(value[i] != before[i], inside) << i;
  }
}

/// ‖grad‖ over the segments.
template <class T>
double norm_of(Context& context, std::span<const Segment> segments, const Owned<T>& grad) {
  const SegmentTable table(context, segments);
  const auto sums = poisoned<double>({std::ssize(table.chunks())});
  const auto norm = poisoned<double>({1});
  ops::gradient_norm(context, table, grad, sums, norm);
  return norm[0];
}

TYPED_TEST(UpdateTest, GradientNormIsExactAndTheSameEverywhere) {
  using T = TypeParam;
  Context one = Context::cpu(1), two = Context::cpu(2);
  constexpr std::int64_t kLong = 1100000, kAll = kLong + 64;
  const auto grad = this->random_.template normal<T>({kAll});
  // One element, sizes on both sides of a chunk's end, many chunks, a part that counts twice.
  for (const std::int64_t count :
       {std::int64_t{1}, std::int64_t{17}, SegmentTable::kChunk - 1, SegmentTable::kChunk,
        SegmentTable::kChunk + 1, 3 * SegmentTable::kChunk + 17, kLong}) {
    const std::array segments = {Segment{3, count, 1, 0}, Segment{0, 0, 1, 0}, Segment{1, 17, 1, 0}};
    long double squares = 0;
    for (const Segment& s : segments)
      for (std::int64_t i = s.offset; i < s.offset + s.count; ++i)
        squares += static_cast<long double>(grad[i]) * grad[i];
    const double expected = static_cast<double>(std::sqrt(squares)), norm = norm_of(one, segments, grad);
    EXPECT_NEAR(norm, expected, 1e-13 * expected) << count << ", seed " << this->random_.seed();
    EXPECT_EQ(norm_of(two, segments, grad), norm) << count;

    // The same parameters elsewhere in memory, as in other buckets.
    Owned<T> moved({kAll + 100}, std::numeric_limits<T>::quiet_NaN());
    std::copy_n(grad.values.begin() + 3, count, moved.values.begin() + 50);
    std::copy_n(grad.values.begin() + 1, 17, moved.values.begin() + kAll + 70);
    const std::array elsewhere = {Segment{50, count, 1, 0}, Segment{kAll + 70, 17, 1, 0}};
    EXPECT_EQ(norm_of(two, elsewhere, moved), norm) << count;
  }
  EXPECT_EQ(norm_of(one, {}, grad), 0.0);
}

TYPED_TEST(UpdateTest, NonFiniteGradientsShowInTheNorm) {
  using T = TypeParam;
  Context context = Context::cpu();
  constexpr std::int64_t kCount = SegmentTable::kChunk + 40;
  for (const T bad : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()})
    for (const std::int64_t at : {std::int64_t{0}, std::int64_t{33}, kCount - 1}) {
      Owned<T> grad({kCount}, T(1));
      grad[at] = bad;
      EXPECT_FALSE(std::isfinite(norm_of(context, std::array{Segment{0, kCount, 1, 0}}, grad))) << at;
    }
}

double clipped(double norm, double max_norm) {
  Context context = Context::cpu();
  auto scalar = scalars(0.1, 1, 3);
  ops::clip_scale(context, Owned<double>({1}, norm), max_norm, scalar);
  EXPECT_EQ(scalar[ops::kLearningRate], 0.1);
  EXPECT_EQ(scalar[ops::kStep], 3.0);
  return scalar[ops::kGradScale];
}

TEST(ClipScale, MultipliesWhatIsThere) {
  Context context = Context::cpu();
  auto scalar = scalars(0.1, 0.25, 3);
  ops::clip_scale(context, Owned<double>({1}, 2), 0.5, scalar);
  EXPECT_DOUBLE_EQ(scalar[ops::kGradScale], 0.25 * 0.5 / (2 + 1e-6));
}

TEST(ClipScale, LeavesSmallNormsAloneAndShrinksLargeOnes) {
  EXPECT_EQ(clipped(0, 1), 1);
  EXPECT_EQ(clipped(0.7, 1), 1);
  EXPECT_EQ(clipped(1, 1), 1);
  EXPECT_LT(clipped(std::nextafter(1.0, 2.0), 1), 1);
  EXPECT_NEAR(clipped(4, 1) * 4, 1, 1e-6);
  EXPECT_DOUBLE_EQ(clipped(2, 0.5), 0.5 / (2 + 1e-6));
}

/// A NaN is above no limit, so that its gradients pass as they are: the parameters whose gradients are NaN
/// show it, the others still move as they would. An infinite norm leaves nothing of the finite gradients, and
/// of the infinite ones 0 · ∞ = NaN.
TEST(ClipScale, HidesNoNormThatIsNotFinite) {
  EXPECT_EQ(clipped(std::nan(""), 1), 1);
  EXPECT_EQ(clipped(std::numeric_limits<double>::infinity(), 1), 0);
}

TEST(Unscale, TakesTheScaleOutAndGrowsItWhileNormsAreFinite) {
  Context context = Context::cpu();
  Owned<double> state({ops::kLossScaleValues}), norm({1}, 24);
  state[ops::kScale] = 8;
  for (int step = 1; step <= 3; ++step) {
    auto scalar = scalars(0.1, 1, step);
    norm[0] = 24;
    ops::unscale(context, {.growth = 4, .backoff = 0.5, .interval = 3}, norm, state, scalar);
    EXPECT_EQ(norm[0], 3);
    EXPECT_EQ(scalar[ops::kGradScale], 1.0 / 8);
    EXPECT_EQ(scalar[ops::kStep], step);
    EXPECT_EQ(scalar[ops::kSkip], 0);
    EXPECT_EQ(state[ops::kScale], step < 3 ? 8 : 32);
  }
  EXPECT_EQ(state[ops::kGoodSteps], 0);
}

TEST(Unscale, SkipsAStepWhoseNormIsNotFinite) {
  Context context = Context::cpu();
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    Owned<double> state({ops::kLossScaleValues}), norm({1}, bad);
    state[ops::kScale] = 3;
    state[ops::kGoodSteps] = 5;
    auto scalar = scalars(0.1, 1, 7);
    ops::unscale(context, {}, norm, state, scalar);
    EXPECT_NE(scalar[ops::kSkip], 0);
    EXPECT_FALSE(std::isfinite(norm[0]));
    EXPECT_EQ(scalar[ops::kStep], 6);  // updates that were made
    EXPECT_EQ(state[ops::kScale], 1.5);
    EXPECT_EQ(state[ops::kGoodSteps], 0);
    EXPECT_EQ(state[ops::kSkippedSteps], 1);
    ops::unscale(context, {}, norm, state, scalar);
    EXPECT_EQ(state[ops::kScale], 1) << "never below 1";
  }
}

TEST(UpdateErrors, ChunksAndSizesMustFit) {
  Context context = Context::cpu();
  const Owned<float> value({8}), small({4});
  const Owned<double> value64({8}), sum({1}), norm({1});
  const SegmentTable good(context, std::array{Segment{0, 8, 1, 0}}),
      beyond(context, std::array{Segment{4, 5, 1, 0}}), before(context, std::array{Segment{-1, 5, 1, 0}});
  const Owned<double> scalar = scalars(0.1, 1, 1), few({ops::kScalars - 1});
  const auto sgd = [&](const Tensor& step, const ChunkRange& range, const Tensor& values,
                       const Tensor& masters, const Tensor& grad, const Tensor& momentum) {
    ops::sgd_update(context, {0.9, false}, step, range, values, masters, grad, momentum);
  };
  EXPECT_NO_THROW(sgd(scalar, all(good), value, value, value, value));
  EXPECT_THROW(sgd(few, all(good), value, value, value, value), ContractError);
  EXPECT_THROW(sgd(Owned<float>({ops::kScalars}), all(good), value, value, value, value), ContractError);
  EXPECT_THROW(sgd(scalar, all(beyond), value, value, value, value), ContractError);
  EXPECT_THROW(sgd(scalar, all(before), value, value, value, value), ContractError);
  EXPECT_THROW(sgd(scalar, {good, 0, 2}, value, value, value, value), ContractError);
  EXPECT_THROW(sgd(scalar, {good, -1, 1}, value, value, value, value), ContractError);
  EXPECT_THROW(sgd(scalar, all(good), value, small, value, value), ContractError);
  EXPECT_THROW(sgd(scalar, all(good), value, value64, value, value), ContractError);
  EXPECT_THROW(sgd(scalar, all(good), value, value, small, value), ContractError);
  EXPECT_THROW(sgd(scalar, all(good), value, value, value64, value), ContractError);
  EXPECT_THROW(sgd(scalar, all(good), value, value, value, small), ContractError);
  EXPECT_THROW(sgd(scalar, all(good), value, value, value, value64), ContractError);
  const auto adamw = [&](const ChunkRange& range, const Tensor& grad, const Tensor& m, const Tensor& v) {
    ops::adamw_update(context, {0.9, 0.95, 1e-8}, scalar, range, value, value, grad, m, v);
  };
  EXPECT_NO_THROW(adamw(all(good), value, value, value));
  EXPECT_THROW(adamw(all(beyond), value, value, value), ContractError);
  EXPECT_THROW(adamw(all(good), small, value, value), ContractError);
  EXPECT_THROW(adamw(all(good), value, small, value), ContractError);
  EXPECT_THROW(adamw(all(good), value, value, small), ContractError);
  EXPECT_THROW(ops::gradient_norm(context, beyond, value, sum, norm), ContractError);
  EXPECT_THROW(ops::gradient_norm(context, good, value, Owned<double>({0}), norm), ContractError);
}

}  // namespace
}  // namespace tandem

#include "core/ops/attention.h"

#include "tests/unit/ops/ops_test.h"

namespace tandem {
namespace {

template <class T>
class AttentionTest : public testing::Test {
 protected:
  Random random_;
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(AttentionTest, Types);

struct Sizes {
  std::int64_t batch, sequence, heads, head_size;
};
const std::vector<Sizes> kSizes = {{1, 1, 1, 1},   {2, 3, 2, 5},    {1, 17, 3, 16},
                                   {2, 64, 1, 64}, {1, 127, 2, 20}, {1, 200, 1, 33}};

/// Attention by its definition, in double.
struct Attention {
  template <class T>
  Attention(const Sizes& s, const Owned<T>& qkv, const Owned<T>& dy)
      : y(s.batch * s.sequence * s.heads * s.head_size),
        lse(s.batch * s.heads * s.sequence),
        dqkv(3 * y.size()) {
    const std::int64_t width = s.heads * s.head_size, d = s.head_size;
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t h = 0; h < s.heads; ++h)
        for (std::int64_t t = 0; t < s.sequence; ++t) {
          // Element j of position t of q (0), k (1) or v (2).
          const auto at = [&](std::int64_t which, std::int64_t position, std::int64_t j) {
            return (b * s.sequence + position) * 3 * width + which * width + h * d + j;
          };
          const std::int64_t out = (b * s.sequence + t) * width + h * d;
          std::vector<double> p(t + 1), dp(t + 1);
          double total = 0, mean_dp = 0;
          for (std::int64_t u = 0; u <= t; ++u) {
            double score = 0;
            for (std::int64_t j = 0; j < d; ++j) score += qkv[at(0, t, j)] * qkv[at(1, u, j)];
            total += p[u] = std::exp(scale * score);
          }
          lse[(b * s.heads + h) * s.sequence + t] = std::log(total);
          for (std::int64_t u = 0; u <= t; ++u) {
            p[u] /= total;
            for (std::int64_t j = 0; j < d; ++j) {
              y[out + j] += p[u] * qkv[at(2, u, j)];
              dp[u] += dy[out + j] * qkv[at(2, u, j)];
              dqkv[at(2, u, j)] += p[u] * dy[out + j];
            }
            mean_dp += p[u] * dp[u];
          }
          for (std::int64_t u = 0; u <= t; ++u)
            for (std::int64_t j = 0; j < d; ++j) {
              dqkv[at(0, t, j)] += p[u] * (dp[u] - mean_dp) * scale * qkv[at(1, u, j)];
              dqkv[at(1, u, j)] += p[u] * (dp[u] - mean_dp) * scale * qkv[at(0, t, j)];
            }
        }
  }
  Reference y, lse, dqkv;
};

/// Bytes that are NaN as numbers, for nothing may be read from them.
Owned<std::uint8_t> scratch_for(const Context& context, const Tensor& qkv, std::int64_t heads) {
  return Owned<std::uint8_t>({ops::attention_scratch(context, qkv.spec(), heads)}, 0xff);
}

TYPED_TEST(AttentionTest, MatchesReference) {
  using T = TypeParam;
  Random& random = this->random_;
  for (const Sizes& s : kSizes)
    for (const int threads : {1, 2}) {
      Context context = Context::cpu(threads);
      const std::int64_t width = s.heads * s.head_size;
      const auto qkv = random.normal<T>({s.batch, s.sequence, 3 * width});
      const auto dy = random.normal<T>({s.batch, s.sequence, width});
      const Attention expected(s, qkv, dy);
      const auto y = poisoned<T>({s.batch, s.sequence, width});
      const auto lse = poisoned<T>({s.batch, s.heads, s.sequence});
      const auto dqkv = poisoned<T>({s.batch, s.sequence, 3 * width});
      const auto scratch = scratch_for(context, qkv, s.heads);
      ops::attention_forward(context, qkv, s.heads, y, lse, scratch);
      expect_close(y, expected.y, random);
      expect_close(lse, expected.lse, random);
      ops::attention_backward(context, qkv, s.heads, y, lse, dy, dqkv, scratch);
      expect_close(dqkv, expected.dqkv, random);
    }
}

TYPED_TEST(AttentionTest, ScoresMayBeLarge) {
  using T = TypeParam;
  Context context = Context::cpu();
  auto qkv = this->random_.template normal<T>({1, 20, 12});
  for (std::int64_t i = 0; i < qkv.numel(); ++i)
    if (i % 12 < 4) qkv[i] *= T(200);  // exp of a score would overflow
  const auto y = poisoned<T>({1, 20, 4}), lse = poisoned<T>({1, 1, 20});
  const auto scratch = scratch_for(context, qkv, 1);
  ops::attention_forward(context, qkv, 1, y, lse, scratch);
  for (const T v : y.values) EXPECT_TRUE(std::isfinite(v));
  for (const T v : lse.values) EXPECT_TRUE(std::isfinite(v));
}

TYPED_TEST(AttentionTest, TheFutureDoesNotLeak) {
  using T = TypeParam;
  constexpr std::int64_t sequence = 90, width = 24, seen = 41;
  Context context = Context::cpu();
  auto qkv = this->random_.template normal<T>({1, sequence, 3 * width});
  const auto y1 = poisoned<T>({1, sequence, width}), y2 = poisoned<T>({1, sequence, width});
  const auto lse = poisoned<T>({1, 3, sequence});
  const auto scratch = scratch_for(context, qkv, 3);
  ops::attention_forward(context, qkv, 3, y1, lse, scratch);
  for (std::int64_t i = seen * 3 * width; i < qkv.numel(); ++i) qkv[i] += T(1);
  ops::attention_forward(context, qkv, 3, y2, lse, scratch);
  EXPECT_TRUE(std::equal(y1.values.begin(), y1.values.begin() + seen * width, y2.values.begin()));
  EXPECT_NE(y1.values, y2.values);
}

TEST(AttentionErrors, ShapesMustFit) {
  Context context = Context::cpu();
  const Owned<float> qkv({2, 5, 24}), y({2, 5, 8}), lse({2, 2, 5});
  const Owned<double> lse64({2, 2, 5});
  const auto scratch = scratch_for(context, qkv, 2);
  const Owned<std::uint8_t> small({scratch.numel() - 1});
  EXPECT_THROW(ops::attention_forward(context, y, 2, y, lse, scratch), ContractError);
  EXPECT_THROW(ops::attention_forward(context, qkv, 3, y, lse, scratch), ContractError);
  EXPECT_THROW(ops::attention_forward(context, qkv, 0, y, lse, scratch), ContractError);
  EXPECT_THROW(ops::attention_forward(context, qkv, 4, y, lse, scratch), ContractError);
  EXPECT_THROW(ops::attention_forward(context, qkv, 2, y, lse64, scratch), ContractError);
  EXPECT_THROW(ops::attention_forward(context, qkv, 2, y, lse, small), ContractError);
  EXPECT_THROW(ops::attention_backward(context, qkv, 2, y, lse, y, qkv, small), ContractError);
  EXPECT_THROW(ops::attention_backward(context, qkv, 2, y, lse, qkv, qkv, scratch), ContractError);
  EXPECT_THROW(ops::attention_backward(context, qkv, 2, y, lse, y, y, scratch), ContractError);
}

}  // namespace
}  // namespace tandem

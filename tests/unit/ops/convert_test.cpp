#include "core/ops/convert.h"

#include <cstring>

#include "tests/unit/ops/ops_test.h"

namespace tandem {
namespace {

TEST(Convert, WidensExactlyAndRoundsToNearest) {
  Random random;
  for (const int threads : {1, 2})
    for (const std::int64_t n : {1, 3, 17, 127, 40000}) {
      Context context = Context::cpu(threads);
      const auto narrow = random.normal<float>({n}, 3);
      const auto wide = random.normal<double>({n}, 3), widened = poisoned<double>({n});
      const auto rounded = poisoned<float>({n}), same = poisoned<float>({n});
      ops::convert(context, narrow, widened);
      ops::convert(context, wide, rounded);
      ops::convert(context, narrow, same);
      for (std::int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(widened[i], narrow[i]);
        const float x = rounded.values[static_cast<std::size_t>(i)];
        const double error = std::abs(static_cast<double>(x) - wide[i]);
        for (const float towards : {-1e30f, 1e30f})
          ASSERT_LE(error, std::abs(static_cast<double>(std::nextafter(x, towards)) - wide[i]));
      }
      EXPECT_EQ(same.values, narrow.values);
    }
}

TEST(Convert, HalfwayGoesToEvenAndSpecialValuesStayWhatTheyAre) {
  Context context = Context::cpu();
  const double infinity = std::numeric_limits<double>::infinity();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // 1 + k·2⁻²⁴ lies halfway between two floats for odd k.
  const std::vector<std::pair<double, float>> cases = {
      {1 + 0x1p-24, 1.0f},
      {1 + 3 * 0x1p-24, 1.0f + 0x1p-22f},
      {-1 - 0x1p-24, -1.0f},
      {1 + 0x1.000002p-24, 1.0f + 0x1p-23f},
      {1e300, kInfinity},
      {-infinity, -kInfinity},
      {0x1p-149, std::numeric_limits<float>::denorm_min()},
      {0.0, 0.0f},
      {-0.0, -0.0f},
  };
  const auto n = static_cast<std::int64_t>(cases.size());
  Owned<double> from({n + 1}, std::nan(""));
  const Owned<float> to({n + 1});
  for (std::int64_t i = 0; i < n; ++i) from[i] = cases[static_cast<std::size_t>(i)].first;
  ops::convert(context, from, to);
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(std::memcmp(&to.values[i], &cases[i].second, sizeof(float)), 0)
        << cases[i].first << " became " << to.values[i];
  EXPECT_TRUE(std::isnan(to.values.back()));
}

TEST(Convert, SixteenBitsThereAndBackWithAFactor) {
  Random random;
  Context context = Context::cpu();
  constexpr std::int64_t kCount = 1003;
  const auto from = random.normal<float>({kCount}), back = poisoned<float>({kCount});
  for (const DType dtype : {DType::bf16, DType::f16}) {
    std::vector<std::uint16_t> bits(kCount);
    const Tensor stored(bits.data(), dtype, {kCount});
    ops::convert(context, from, stored, 0.25f);
    ops::convert(context, stored, back, 4);
    const float unit = dtype == DType::bf16 ? 0x1p-8f : 0x1p-11f;
    for (std::int64_t i = 0; i < kCount; ++i)
      ASSERT_NEAR(back[i], from[i], std::max<double>(unit * std::abs(from[i]), 4 * 0x1p-25))
          << "seed " << random.seed();
  }
}

TEST(Convert, SizesAndTypesMustFit) {
  Context context = Context::cpu();
  const Owned<float> a({2, 3});
  const Owned<double> same_size({6}), b({5});
  EXPECT_NO_THROW(ops::convert(context, a, same_size));
  EXPECT_THROW(ops::convert(context, a, b), ContractError);
  EXPECT_THROW(ops::convert(context, a, Owned<std::int32_t>({6})), ContractError);
}

TEST(AddScaled, AssignsOrAdds) {
  Random random;
  Context context = Context::cpu();
  const auto factor = random.normal<double>({1}), value = random.normal<double>({1});
  auto to = poisoned<double>({1});
  ops::add_scaled(context, factor, value, to, Write::assign);
  const double product = factor[0] * value[0];
  EXPECT_DOUBLE_EQ(to[0], product) << "seed " << random.seed();
  to[0] = 3;
  ops::add_scaled(context, factor, value, to, Write::add);
  ops::add_scaled(context, factor, value, to, Write::add);
  EXPECT_NEAR(to[0], 3 + 2 * product, 1e-14 * (3 + std::abs(product))) << "seed " << random.seed();
}

TEST(AddScaled, TakesOneNumberOfEach) {
  Context context = Context::cpu();
  const Owned<double> one({1}), two({2});
  EXPECT_THROW(ops::add_scaled(context, two, one, one, Write::add), ContractError);
  EXPECT_THROW(ops::add_scaled(context, one, two, one, Write::add), ContractError);
  EXPECT_THROW(ops::add_scaled(context, one, one, two, Write::add), ContractError);
  EXPECT_THROW(ops::add_scaled(context, one, Owned<float>({1}), one, Write::add), ContractError);
}

}  // namespace
}  // namespace tandem

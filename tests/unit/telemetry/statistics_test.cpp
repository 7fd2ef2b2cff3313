#include "core/telemetry/statistics.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/philox.h"

namespace tandem {
namespace {

std::vector<double> noise(std::size_t n, std::uint64_t stream, double mean = 100, double deviation = 1) {
  Philox random(7, stream);
  std::vector<double> values(n);
  for (double& v : values) v = mean + deviation * random.normal();
  return values;
}

TEST(Statistics, QuantilesAreLinearBetweenOrderStatistics) {
  const std::vector<double> v = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(v, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(v, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(v, 0.9), 3.7);  // numpy.quantile([4, 1, 3, 2], 0.9)
  EXPECT_DOUBLE_EQ(quantile(v, 1), 4);
  EXPECT_DOUBLE_EQ(mean(v), 2.5);
  EXPECT_NEAR(standard_deviation(v), 1.2909944487, 1e-9);
}

TEST(Statistics, StudentsTIsThatOfTheTables) {
  EXPECT_NEAR(student_t(0.95, 1), 12.7062, 1e-3);
  EXPECT_NEAR(student_t(0.95, 4), 2.7764, 1e-3);
  EXPECT_NEAR(student_t(0.95, 9), 2.2622, 1e-3);
  EXPECT_NEAR(student_t(0.99, 9), 3.2498, 1e-3);
  EXPECT_NEAR(student_t(0.95, 1000), 1.9623, 1e-3);
}

TEST(Statistics, LaunchIntervalByHand) {
  const std::vector<double> two = {10, 12};  // mean 11, standard error 1
  const auto interval = launch_interval(two);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 11 - 12.7062, 1e-3);
  EXPECT_NEAR(interval->high, 11 + 12.7062, 1e-3);
  EXPECT_FALSE(launch_interval(std::vector<double>{10}));
}

TEST(Statistics, BatchMeansCoverTheMeanOfACorrelatedSeries) {
  int covered = 0;
  constexpr int kSeries = 300;
  for (int series = 0; series < kSeries; ++series) {
    Philox random(11, static_cast<std::uint64_t>(series));
    std::vector<double> values(200);
    double state = 0;
    for (double& v : values) v = 50 + (state = 0.5 * state + random.normal());
    const auto interval = batch_means_interval(values);
    ASSERT_TRUE(interval);
    covered += interval->contains(50);
  }
  EXPECT_GT(covered, kSeries * 88 / 100);  // 95% for independent batches; these are a little correlated
  EXPECT_LT(covered, kSeries * 99 / 100);
  EXPECT_FALSE(batch_means_interval(noise(19, 0)));
}

TEST(Statistics, EqualConfigurationsAreSeldomCalledDifferent) {
  int different = 0, found = 0;
  constexpr int kComparisons = 400;
  for (int i = 0; i < kComparisons; ++i) {
    const auto stream = static_cast<std::uint64_t>(3 * i);
    const auto drift = noise(5, stream, 0, 20);  // what both launches of a round share
    auto a = noise(5, stream + 1), b = noise(5, stream + 2);
    for (std::size_t r = 0; r < 5; ++r) a[r] += drift[r], b[r] += drift[r];
    const auto same = ratio_interval(a, b);
    different += !same->contains(1);
    for (double& v : a) v *= 1.1;
    found += ratio_interval(a, b)->low > 1;
  }
  EXPECT_LT(different, kComparisons * 8 / 100);  // 5% by definition
  EXPECT_GT(found, kComparisons * 95 / 100);
}

TEST(Statistics, ManyEqualConfigurationsAreSeldomCalledDifferentFromTheBest) {
  int wrong = 0;
  constexpr int kSweeps = 200, kConfigurations = 8;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    std::vector<std::vector<double>> launches;
    for (int c = 0; c < kConfigurations; ++c)
      launches.push_back(noise(5, static_cast<std::uint64_t>(1000 + sweep * kConfigurations + c)));
    std::size_t best = 0;
    for (std::size_t c = 1; c < launches.size(); ++c)
      if (mean(launches[c]) < mean(launches[best])) best = c;
    bool any = false;
    for (std::size_t c = 0; c < launches.size(); ++c)
      if (c != best)
        any |= !block_ratio_interval(launches, c, best, bonferroni(28))->contains(1);  // 8·7/2 pairs
    wrong += any;
  }
  EXPECT_LT(wrong, kSweeps * 8 / 100);
}

TEST(Statistics, TheWindowFollowsTheLengthOfTheRun) {
  EXPECT_FALSE(stable_window(0));
  EXPECT_FALSE(stable_window(14));
  EXPECT_EQ(stable_window(15), (Window{10, 14, true}));
  EXPECT_EQ(stable_window(100), (Window{40, 99, true}));
  EXPECT_EQ(stable_window(249), (Window{100, 248, true}));
  EXPECT_EQ(stable_window(250), (Window{50, 249, false}));
  EXPECT_EQ(stable_window(100000), (Window{50, 249, false}));
}

TEST(Statistics, WindowsAreParsed) {
  EXPECT_EQ(parse_window("20:69").first, 20);
  EXPECT_EQ(parse_window("20:69").last, 69);
  for (const char* text : {"", "20", "20:", ":69", "69:20", "-1:5", "a:b", "1:2:3", "1:2 "})
    EXPECT_THROW(parse_window(text), UsageError) << text;
}

TEST(Statistics, WarmUpDriftAndOutliersAreFound) {
  auto series = noise(200, 1);
  EXPECT_LE(mser5_truncation(series), 50);
  EXPECT_NEAR(theil_sen_drift(series), 0, 0.01);
  EXPECT_TRUE(outliers(series).size() < 3);
  for (std::size_t i = 0; i < 40; ++i) series[i] += 60 - static_cast<double>(i);
  EXPECT_NEAR(static_cast<double>(mser5_truncation(series)), 40, 10);
  auto rising = noise(200, 2);
  for (std::size_t i = 0; i < 200; ++i) rising[i] += 0.05 * static_cast<double>(i);  // 10 on 105
  EXPECT_NEAR(theil_sen_drift(rising), 0.095, 0.01);
  auto spiked = noise(200, 3);
  spiked[17] += 50;
  const auto found = outliers(spiked);
  EXPECT_TRUE(std::find(found.begin(), found.end(), 17) != found.end());
}

}  // namespace
}  // namespace tandem

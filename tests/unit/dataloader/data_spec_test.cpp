#include "dataloader/data_spec.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/dataloader/expect_message.h"
#include "tests/unit/dataloader/fetch_sample.h"

namespace tandem {
namespace {

constexpr ModelInput kMlp{.kind = ModelInput::Kind::features, .features = 40, .classes = 5};
constexpr ModelInput kGpt{.kind = ModelInput::Kind::tokens, .sequence = 16, .classes = 300};

TEST(DataSpec, ParsesEveryKind) {
  for (const std::string text :
       {"idx:/data/mnist", "tokens:shards/*.bin", "tokens-raw:train.bin", "text:a:b", "synthetic:123"})
    EXPECT_EQ(DataSpec::parse(text).str(), text);
  EXPECT_EQ(DataSpec::parse("text:a:b").path, "a:b");
  EXPECT_EQ(DataSpec::parse("synthetic").samples, 100'000);
  EXPECT_EQ(DataSpec::parse("synthetic:1000000000000").samples, 1'000'000'000'000);
}

TEST(DataSpec, RefusesTheRest) {
  const auto refuse = [](const std::string& text, const std::vector<std::string>& parts) {
    expect_message<UsageError>([&] { DataSpec::parse(text); }, parts);
  };
  refuse("", {"no kind of data is called ''", "idx:DIR"});
  refuse("mnist", {"'mnist'", "text:PATH"});
  refuse("csv:file", {"'csv'"});
  refuse("/a/path", {"'/a/path'", "text:PATH"});
  refuse("idx", {"path is missing"});
  refuse("text:", {"path is missing"});
  for (const std::string n : {"", "0", "-5", "abc", "12x", "1e6", "99999999999999999999"})
    refuse("synthetic:" + n, {"is not a number of samples"});
}

TEST(OpenData, RefusesDataThatTheModelCannotTake) {
  expect_message<UsageError>([] { open_data(DataSpec::parse("idx:x"), std::nullopt, kGpt); },
                             {"idx:x", "images are not tokens", "--model mlp"});
  for (const std::string kind : {"tokens", "tokens-raw", "text"})
    expect_message<UsageError>([&] { open_data(DataSpec::parse(kind + ":x"), std::nullopt, kMlp); },
                               {kind + ":x", "tokens are not features"});
  expect_message<UsageError>([] { open_data(DataSpec::parse("synthetic"), DataSpec::parse("text:x"), kMlp); },
                             {"text:x"});
}

TEST(Synthetic, TokensAreUniformAndTargetsAreTheNext) {
  const auto sets = open_data(DataSpec::parse("synthetic:50"), DataSpec::parse("synthetic:20"), kGpt);
  EXPECT_EQ(sets.train->size(), 50);
  EXPECT_EQ(sets.validation->size(), 20);
  double sum = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    const auto sample = fetch_sample<std::int32_t>(*sets.train, i);
    EXPECT_TRUE(std::equal(sample.input.begin() + 1, sample.input.end(), sample.target.begin()));
    for (const std::int32_t id : sample.target) {
      EXPECT_GE(id, 0);
      EXPECT_LT(id, 300);
      sum += id;
    }
  }
  EXPECT_NEAR(sum / (50 * 16), 149.5, 6 * 86.6 / std::sqrt(50 * 16));
  EXPECT_EQ(fetch_sample<std::int32_t>(*sets.train, 3).input,
            fetch_sample<std::int32_t>(*sets.train, 3).input);
  EXPECT_NE(fetch_sample<std::int32_t>(*sets.train, 3).input,
            fetch_sample<std::int32_t>(*sets.validation, 3).input);
}

// Class means from the training split classify the validation split: so it can be learned, and generalises.
TEST(Synthetic, FeaturesCanBeLearned) {
  const auto sets = open_data(DataSpec::parse("synthetic:1000"), DataSpec::parse("synthetic:200"), kMlp);
  std::vector<std::vector<double>> means(5, std::vector<double>(40));
  for (std::int64_t i = 0; i < 1000; ++i) {
    const auto sample = fetch_sample<float>(*sets.train, i);
    for (std::size_t j = 0; j < 40; ++j)
      means[static_cast<std::size_t>(sample.target[0])][j] += sample.input[j] / 200.0;
  }
  int right = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    const auto sample = fetch_sample<float>(*sets.validation, i);
    std::vector<double> distance(5);
    for (std::size_t c = 0; c < 5; ++c)
      for (std::size_t j = 0; j < 40; ++j) distance[c] += std::pow(sample.input[j] - means[c][j], 2);
    right += std::min_element(distance.begin(), distance.end()) - distance.begin() == sample.target[0];
  }
  EXPECT_GT(right, 140);
  EXPECT_LT(right, 200) << "noise should leave something to learn";
}

}  // namespace
}  // namespace tandem

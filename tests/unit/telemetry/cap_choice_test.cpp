#include "core/telemetry/cap_choice.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/philox.h"

namespace tandem {
namespace {

/// Caps 1, 5, 25 and 100 with these predictions; 25 is the standard one.
CapChoice choice_of(double one, double five, double standard, double hundred) {
  CapChoice choice;
  choice.ranks = 2;
  choice.candidates = {{1, 9, one}, {5, 4, five}, {25, 2, standard}, {100, 1, hundred}};
  choice.standard = 2;
  choice.work.gradients = {{100, 10, 1}};
  choice.gradient_names = {"w"};
  choice.link = {{{0, 20, 1e-3}}, 0};
  return choice;
}

/// Five rounds of `ms` with 1% of noise.
std::vector<double> rounds(double ms, std::uint64_t seed) {
  Philox random(seed, 0);
  std::vector<double> values;
  for (int i = 0; i < 5; ++i) values.push_back(ms * (1 + 0.01 * random.normal()));
  return values;
}

TEST(CapChoice, TriesTheBestPredictionsAndTheStandardOne) {
  EXPECT_EQ(worth_trying(choice_of(100, 103, 130, 104)), (std::vector<std::size_t>{2, 0, 1, 3}));
  EXPECT_EQ(worth_trying(choice_of(100, 106, 130, 104)), (std::vector<std::size_t>{2, 0, 3}));
  EXPECT_EQ(worth_trying(choice_of(130, 120, 100, 110)), (std::vector<std::size_t>{2}));
}

TEST(CapChoice, TakesTheFastestIfTheIntervalSaysSo) {
  CapChoice choice = choice_of(100, 101, 110, 120);
  choice.candidates[0].measured_ms = rounds(95, 1);
  choice.candidates[1].measured_ms = rounds(90, 2);
  choice.candidates[2].measured_ms = rounds(110, 3);
  decide(choice);
  EXPECT_EQ(choice.cap_mb(), 5);
  EXPECT_LT(choice.candidates[1].ratio->high, 1);
  EXPECT_FALSE(choice.candidates[3].ratio);
}

TEST(CapChoice, EqualCapsSeldomReplaceTheStandardOne) {
  int replaced = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CapChoice choice = choice_of(99, 99, 100, 99);
    for (std::size_t i = 0; i < 4; ++i) choice.candidates[i].measured_ms = rounds(100, 10 * seed + i);
    decide(choice);
    replaced += choice.chosen != choice.standard;
  }
  EXPECT_LE(replaced, 12);  // 2.5% one-sided are expected: 5 of 200
}

TEST(CapChoice, WithoutMeasurementsTheStandardOneStays) {
  CapChoice choice = choice_of(130, 120, 100, 110);
  decide(choice);
  EXPECT_EQ(choice.cap_mb(), 25);
  EXPECT_NE(choice.reason.find("predicted"), std::string::npos);
}

TEST(CapChoice, TheTableAndTheFileShowTheEvidence) {
  CapChoice choice = choice_of(100, 101, 110, 120);
  choice.candidates[0].measured_ms = rounds(90, 1);
  choice.candidates[2].measured_ms = rounds(110, 3);
  decide(choice);
  const std::string table = cap_table(choice);
  for (const char* part : {"110.00  ", "standard", "<- taken", "taken: 1 MiB", "alpha 20 us, 1 GB/s"})
    EXPECT_NE(table.find(part), std::string::npos) << part << " in\n" << table;
  const auto json = nlohmann::json::parse(to_json(choice));
  EXPECT_EQ(json["cap_mb"], 1);
  EXPECT_EQ(json["candidates"].size(), 4u);
  EXPECT_TRUE(json["candidates"][1]["measured_ms"].is_null());
  EXPECT_EQ(json["candidates"][0]["measured_ms"].size(), 5u);
  EXPECT_EQ(json["work"]["gradients"][0]["name"], "w");
}

}  // namespace
}  // namespace tandem

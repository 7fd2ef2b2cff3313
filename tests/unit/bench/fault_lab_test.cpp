#include "bench/fault_lab.h"

#include <gtest/gtest.h>

namespace tandem::bench {
namespace {

Diagnosed run(const std::string& expected, std::vector<std::string> found) {
  return {{"a scenario", expected, {}, {}, false}, std::move(found)};
}

TEST(FaultLab, CountsWhatIsRightMissedAndWrong) {
  const std::vector<Diagnosed> runs = {run("straggler", {"straggler"}), run("no overlap", {}),
                                       run("data-bound", {"data-bound", "straggler"}), run("", {}),
                                       run("", {"clocks"})};
  const LabScore s = score(runs);
  EXPECT_EQ(s.right, 2);
  EXPECT_EQ(s.missed, 1);
  EXPECT_EQ(s.wrong, 2);
  EXPECT_DOUBLE_EQ(s.precision(), 0.5);
  EXPECT_DOUBLE_EQ(s.recall(), 2.0 / 3);
  EXPECT_EQ(s.healthy_clean, 1);
  const std::string text = to_text(runs);
  for (const char* part : {"precision 0.50", "recall 0.67", "missed", "wrong", "1 of 2 healthy"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_DOUBLE_EQ(score({}).precision(), 1);
}

TEST(FaultLab, AScenariosOwnOptionsWin) {
  const TrainOptions user({"--batch", "4", "--bucket-mb", "7", "--no-gradient-as-bucket-view"});
  for (const Scenario& scenario : fault_scenarios()) {
    const TrainOptions options = options_of(scenario, user);
    EXPECT_TRUE(options.has("--no-gradient-as-bucket-view"));
    if (scenario.name == "tiny buckets") {
      EXPECT_EQ(options.value("--bucket-mb"), "0.002");
    }
    if (scenario.name == "slow rank") {
      EXPECT_EQ(options.value("--batch"), "4");
      EXPECT_EQ(options.value("--inject"), "slow=1:15");
    }
  }
}

TEST(FaultLab, AFindingsNameIsWhatStandsBeforeItsNumbers) {
  EXPECT_EQ(name_of_finding("random straggler: in the median step: 5%"), "random straggler");
}

}  // namespace
}  // namespace tandem::bench

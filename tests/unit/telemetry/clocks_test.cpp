#include "core/telemetry/clocks.h"

#include <gtest/gtest.h>

#include "core/comm/world.h"
#include "tests/unit/dataloader/expect_message.h"
#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

TEST(Clocks, PingPongOfOneHostFindsNoOffset) {
  run_threads(3, [](World& world) {
    Context context = Context::cpu();
    const auto readings = read_clocks(world.comm().control(), context.control());
    if (world.rank() != 0) {
      EXPECT_TRUE(readings.empty());
      return;
    }
    ASSERT_EQ(readings.size(), 3u);
    for (const ClockReading& r : readings) {  // threads share one clock: what is left is the error
      EXPECT_LE(std::abs(r.offset_us), r.error_us + 1e-3);
      EXPECT_LT(r.error_us, 1e5);
    }
  });
}

RankClock clock(double first_step_us, double offset_us, double drift_us) {
  return {first_step_us, {{1000, offset_us, 2}, {2000, offset_us + drift_us, 3}}};
}

TEST(Clocks, LogsLieBesideEachOther) {
  // Rank 1's clock is 500 ahead at the start, 510 at the end; its first step began at 1500 of its own: 1000.
  const ClockAlignment alignment({clock(900, 0, 0), clock(1500, 500, 10)});
  EXPECT_NEAR(alignment.common_us(0, 0), 0, 1e-9);
  EXPECT_NEAR(alignment.common_us(1, 0), 100, 1e-9);
  EXPECT_NEAR(alignment.common_us(1, 1010), 1100, 0.2);  // at the end: 2510 − 510 − 900
  EXPECT_NEAR(*alignment.error_us(), 3, 1e-12);
  EXPECT_NEAR(ClockAlignment().common_us(5, 42), 42, 1e-12);
  EXPECT_FALSE(ClockAlignment().error_us());
}

TEST(Clocks, AreWrittenAndReadBack) {
  const TempFolder folder;
  const std::vector<RankClock> clocks = {clock(900.125, 0, 0), clock(1500.5, 500.25, 10)};
  const auto back = load_clocks(folder.write("clocks.json", clocks_json(clocks)));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[1].first_step_us, 1500.5);
  EXPECT_EQ(back[1].readings.at(1).offset_us, 510.25);
  EXPECT_TRUE(load_clocks(folder.path("none.json")).empty());
  expect_message<DataError>([&] { load_clocks(folder.write("bad.json", "{\"version\":1")); },
                            {"bad.json", "damaged"});
  expect_message<DataError>([&] { load_clocks(folder.write("old.json", "{\"version\":9,\"ranks\":[]}")); },
                            {"old.json", "version"});
}

}  // namespace
}  // namespace tandem

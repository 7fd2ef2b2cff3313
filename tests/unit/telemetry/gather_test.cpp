#include "core/telemetry/gather.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/comm/world.h"

namespace tandem {
namespace {

/// A record in which every field says whose it is.
StepRecord record(int rank, std::int64_t step) {
  const double x = 100.0 * rank + static_cast<double>(step);
  StepRecord r;
  r.step = step;
  r.start_ms = x + 0.1;
  r.step_ms = x + 0.2;
  r.samples = rank + 1;
  r.tokens = (std::int64_t{1} << 50) + rank;
  if (rank != 1) r.forward_ms = x + 0.3;
  r.loss = x + 0.4;
  r.power_w = x + 0.5;
  for (int b = 0; b < rank; ++b) {
    r.buckets.push_back({b, 1000 * b, x, x + 1, x + 2, x + 3, x + 4, {}});
    if (b == 1) r.buckets.back().applied_us = x + 5;
  }
  r.phases = {{Phase::backward, x, x + 9}};
  return r;
}

void expect_equal(const StepRecord& a, const StepRecord& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.start_ms, b.start_ms);
  EXPECT_EQ(a.step_ms, b.step_ms);
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.tokens, b.tokens);
  for (const auto member :
       {&StepRecord::host_ms, &StepRecord::forward_ms, &StepRecord::loss, &StepRecord::power_w})
    EXPECT_EQ(a.*member, b.*member);
  ASSERT_EQ(a.buckets.size(), b.buckets.size());
  for (std::size_t i = 0; i < a.buckets.size(); ++i) {
    EXPECT_EQ(a.buckets[i].id, b.buckets[i].id);
    EXPECT_EQ(a.buckets[i].bytes, b.buckets[i].bytes);
    EXPECT_EQ(a.buckets[i].ready_us, b.buckets[i].ready_us);
    EXPECT_EQ(a.buckets[i].wait_end_us, b.buckets[i].wait_end_us);
    EXPECT_EQ(a.buckets[i].applied_us, b.buckets[i].applied_us);
  }
  ASSERT_EQ(a.phases.size(), b.phases.size());
  EXPECT_EQ(a.phases[0].phase, b.phases[0].phase);
  EXPECT_EQ(a.phases[0].end_us, b.phases[0].end_us);
}

TEST(Gather, BringsEveryRanksRecordsToAll) {
  for (int ranks : {1, 2, 3})
    run_threads(ranks, [&](World& world) {
      Context context = Context::cpu();
      std::vector<StepRecord> mine;  // not equally many: a rank may have ended earlier
      for (int step = 0; step < 2 + world.rank(); ++step) mine.push_back(record(world.rank(), step));
      const auto all = gather_records(mine, world.comm(), context.comm());
      ASSERT_EQ(static_cast<int>(all.size()), world.size());
      for (int rank = 0; rank < world.size(); ++rank) {
        const auto& theirs = all[static_cast<std::size_t>(rank)];
        ASSERT_EQ(static_cast<int>(theirs.size()), 2 + rank);
        for (std::size_t s = 0; s < theirs.size(); ++s)
          expect_equal(theirs[s], record(rank, static_cast<std::int64_t>(s)));
      }
    });
}

TEST(Gather, ToleratesRanksThatHaveNothing) {
  run_threads(2, [](World& world) {
    Context context = Context::cpu();
    const auto none = gather_records({}, world.comm(), context.comm());
    ASSERT_EQ(none.size(), 2u);
    EXPECT_TRUE(none[0].empty() && none[1].empty());
  });
}

TEST(Gather, BringsTextsOfAnyBytes) {
  run_threads(3, [](World& world) {
    Context context = Context::cpu();
    const std::vector<std::string> texts = {"", "host\n0-3", std::string("\0\xff é", 5)};
    EXPECT_EQ(gather_texts(texts[static_cast<std::size_t>(world.rank())], world.comm(), context.comm()),
              texts);
    EXPECT_EQ(broadcast_text(world.rank() == 0 ? "/runs/a b" : "other", world.comm(), context.comm()),
              "/runs/a b");
  });
}

}  // namespace
}  // namespace tandem

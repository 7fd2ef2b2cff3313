#include "core/telemetry/explain.h"

#include <sstream>

#include <gtest/gtest.h>

namespace tandem {
namespace {

/// A step of two buckets; `late_us`: how much longer the collectives of this rank take.
StepRecord record(double late_us) {
  StepRecord r;
  r.step = 120;
  r.step_ms = 8.4;
  r.data_wait_ms = 0.1;
  r.forward_ms = 2;
  r.backward_ms = 4;
  r.exposed_comm_ms = 1.5;
  r.optimizer_ms = 0.7;
  r.host_ms = 0.1;
  r.phases = {{Phase::data, 0, 100},
              {Phase::forward, 200, 2200},
              {Phase::backward, 2200, 6200},
              {Phase::optimizer, 6200, 8400}};
  r.buckets = {{0, 1 << 20, 3200, 3300, 4300 + late_us, 6200, 6200, 6500.0},
               {1, 5 << 20, 6200, 6200, 7700 + late_us, 6500, 8000, 8390.0}};
  return r;
}

TEST(Explain, TellsTheStep) {
  const StepRecord ranks[] = {record(250), record(0)};
  EXPECT_EQ(explain_step(ranks), R"(Step 120 in milliseconds since its start on each rank
  d data  F forward  B backward  u update  w waits for a bucket
  . ready, waits for its turn  = collective  | applied

Rank 0: 8.40 ms
  = data 0.10 + forward 2.00 + backward 4.00 + exposed 1.50 + optimizer 0.70 + rest 0.10
  ms          0         1         2         3         4         5         6         7         8
  compute     d FFFFFFFFFFFFFFFFFFFFBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBuuuwwwwwwwwwwwwwwwuuuu
  bucket 0                                    .=============                   |
  bucket 1                                                                  ==================   |

  bucket      bytes     ready     start       end      took   waited at       for   applied
       0      1 MiB     3.200     3.300     4.550     1.250       6.200     0.000     6.500
       1      5 MiB     6.200     6.200     7.950     1.750       6.500     1.500     8.390

Rank 1: 8.40 ms
  = data 0.10 + forward 2.00 + backward 4.00 + exposed 1.50 + optimizer 0.70 + rest 0.10
  ms          0         1         2         3         4         5         6         7         8
  compute     d FFFFFFFFFFFFFFFFFFFFBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBuuuwwwwwwwwwwwwwwwuuuu
  bucket 0                                    .==========                      |
  bucket 1                                                                  ===============      |

  bucket      bytes     ready     start       end      took   waited at       for   applied
       0      1 MiB     3.200     3.300     4.300     1.000       6.200     0.000     6.500
       1      5 MiB     6.200     6.200     7.700     1.500       6.500     1.500     8.390

Across ranks: the shortest collective is the transfer, what others took longer is waiting
  bucket   0   transfer 1.000 ms; rank 0 waited 0.250 ms for rank 1
  bucket   1   transfer 1.500 ms; rank 0 waited 0.250 ms for rank 1
)");
}

TEST(Explain, FitsInAHundredColumnsWhateverTheScale) {
  for (const double factor : {1e-3, 0.1, 1.0, 37.0, 1e4}) {
    StepRecord r = record(0);
    for (double* ms : {&r.step_ms, &*r.data_wait_ms, &*r.forward_ms, &*r.backward_ms, &*r.exposed_comm_ms,
                       &*r.optimizer_ms, &*r.host_ms})
      *ms *= factor;
    for (PhaseSpan& p : r.phases) p = {p.phase, p.start_us * factor, p.end_us * factor};
    for (BucketRecord& b : r.buckets) {
      for (double* us :
           {&b.ready_us, &b.start_us, &b.end_us, &b.wait_start_us, &b.wait_end_us, &*b.applied_us})
        *us *= factor;
    }
    std::istringstream text(explain_step({{r, r}}));
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST(Explain, SaysLessWhereLessWasMeasured) {
  StepRecord bare;
  bare.step = 3;
  bare.step_ms = 1.5;
  EXPECT_NE(explain_step({{bare}}).find("Rank 0: 1.50 ms\n"), std::string::npos);
  StepRecord phases = record(0);
  phases.buckets.clear();
  const std::string text = explain_step({{phases}});
  EXPECT_NE(text.find("compute"), std::string::npos);
  EXPECT_EQ(text.find("bucket 0"), std::string::npos);
  EXPECT_EQ(explain_step({}), "");
}

}  // namespace
}  // namespace tandem

#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/comm/comm_observer.h"
#include "core/telemetry/faults.h"

namespace tandem {

/// --inject link=RATE: holds the comm stream after each of a step's collectives until a link of that rate
/// would have carried it, 2(P − 1)/P of its bytes (counted as an all-reduce's) one way, after its latency.
/// Stands between the reducer and another observer, which sees the longer collective.
class SlowLink final : public CommObserver {
 public:
  /// `observer` must outlive it.
  SlowLink(CommObserver& observer, LinkSpeed link, int ranks, const std::vector<std::int64_t>& wire_bytes);

  void bucket_ready(int bucket, Stream& compute) override { observer_.bucket_ready(bucket, compute); }
  void bucket_start(int bucket, Stream& comm) override;
  void bucket_end(int bucket, Stream& comm) override;
  void wait_start(int bucket, Stream& compute) override { observer_.wait_start(bucket, compute); }
  void wait_end(int bucket, Stream& compute) override { observer_.wait_end(bucket, compute); }

 private:
  using Clock = std::chrono::steady_clock;

  CommObserver& observer_;
  std::vector<Clock::duration> least_;  // of each bucket's collective
  Clock::time_point start_;             // of the one that runs; the comm stream's alone
};

}  // namespace tandem

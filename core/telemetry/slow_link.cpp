#include "core/telemetry/slow_link.h"

#include <thread>

namespace tandem {

SlowLink::SlowLink(CommObserver& observer, LinkSpeed link, int ranks,
                   const std::vector<std::int64_t>& wire_bytes)
    : observer_(observer) {
  const double share = 2.0 * (ranks - 1) / ranks;
  for (const std::int64_t bytes : wire_bytes)
    least_.push_back(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
        1e-6 * link.latency_us + share * static_cast<double>(bytes) / link.bytes_per_s)));
}

void SlowLink::bucket_start(int bucket, Stream& comm) {
  observer_.bucket_start(bucket, comm);
  comm.enqueue([this] { start_ = Clock::now(); });
}

void SlowLink::bucket_end(int bucket, Stream& comm) {
  comm.enqueue([this, least = least_.at(static_cast<std::size_t>(bucket))] {
    std::this_thread::sleep_until(start_ + least);
  });
  observer_.bucket_end(bucket, comm);
}

}  // namespace tandem

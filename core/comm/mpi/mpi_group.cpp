#include "core/comm/mpi/mpi_group.h"

#include <algorithm>
#include <thread>

#include "core/comm/mpi/mpi_check.h"

namespace tandem::mpi {

Group::Group(MPI_Comm comm, Limits limits) : comm_(comm), limits_(limits) {
  TANDEM_MPI(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
  TANDEM_MPI(MPI_Comm_rank(comm_, &rank_));
  TANDEM_MPI(MPI_Comm_size(comm_, &size_));
}

Group::~Group() {
  if (comm_ != MPI_COMM_WORLD && !abandoned_) MPI_Comm_free(&comm_);
}

void Group::throw_if_abandoned() const {
  if (abandoned_) throw CommError("rank {} has left its collectives", rank_);
}

void Group::wait_all(std::span<MPI_Request> requests) const {
  Backoff backoff;
  for (int done = 0;;) {
    TANDEM_MPI(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE));
    if (done) return;
    throw_if_abandoned();
    backoff.pause();
  }
}

std::byte* Group::scratch(std::int64_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

void Backoff::pause() const {
  constexpr std::chrono::microseconds kLook(50), kLongestSleep(200);
  const auto waited = Clock::now() - last_progress_;
  if (waited < kLook) {
    std::this_thread::yield();
  } else {
    // A first sleep as long as the look would lock two ranks into sleeping in turn, each missing the other.
    std::this_thread::sleep_for(std::min<Clock::duration>(waited / 4, kLongestSleep));
  }
}

}  // namespace tandem::mpi

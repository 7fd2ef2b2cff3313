#pragma once

#include <string>

namespace tandem::mpi {

/// MPI from MPI_Init to MPI_Finalize, with MPI_THREAD_MULTIPLE and errors returned instead of fatal. Made and
/// destroyed on the main thread.
class Session {
 public:
  /// Throws CommError, e.g. where MPI finds another number of ranks than `launched_ranks`, what the
  /// launcher's environment says.
  explicit Session(int launched_ranks);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  /// "Open MPI v4.1.4, …": one line.
  static std::string library_version();
};

}  // namespace tandem::mpi

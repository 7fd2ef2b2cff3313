#pragma once

#include <exception>

#include "core/comm/communicator.h"

namespace tandem {

/// Keeps the memory that collectives work on alive long enough. Declare it after everything that they touch
/// (arenas, parameters, buckets), so that it is destroyed first: it waits until the comm stream is done. When
/// an exception leaves the scope, it first lets go of this rank's pending collectives, which other ranks may
/// never join.
class CommScope {
 public:
  CommScope(Communicator& communicator, Stream& stream) : communicator_(communicator), stream_(stream) {}
  CommScope(const CommScope&) = delete;
  CommScope& operator=(const CommScope&) = delete;
  ~CommScope() {
    if (std::uncaught_exceptions() > exceptions_) communicator_.abandon();
    try {
      stream_.synchronize();
    } catch (...) {  // whoever waited for the stream has heard of it, or another exception is on its way
    }
  }

 private:
  Communicator& communicator_;
  Stream& stream_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace tandem

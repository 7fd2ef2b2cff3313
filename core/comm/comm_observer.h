#pragma once

#include "core/device/stream.h"

namespace tandem {

/// Hears of a bucket's life where each stage is put on its stream, and may put time marks there. Never called
/// from a stream's own thread; never blocks.
class CommObserver {
 public:
  virtual ~CommObserver() = default;
  /// The bucket's last gradient has been written (compute stream).
  virtual void bucket_ready(int bucket, Stream& compute) = 0;
  /// The bucket's collective is next on the comm stream, and has just been done there.
  virtual void bucket_start(int bucket, Stream& comm) = 0;
  virtual void bucket_end(int bucket, Stream& comm) = 0;
  /// The compute stream comes to wait for the bucket's collective, and goes on: the time between is exposed
  /// communication.
  virtual void wait_start(int bucket, Stream& compute) = 0;
  virtual void wait_end(int bucket, Stream& compute) = 0;
};

}  // namespace tandem

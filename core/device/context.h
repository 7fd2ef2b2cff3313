#pragma once

#include "core/device/device.h"
#include "core/device/stream.h"

namespace tandem {

/// One rank's device: its compute, comm and copy streams and what operations need beside their tensors.
/// `main` owns it and passes it on; nothing of it is global.
class Context {
 public:
  /// A CPU rank that computes with `compute_threads` threads (≥ 1).
  static Context cpu(int compute_threads = 1);

  Device device() const { return device_; }
  int compute_threads() const { return compute_threads_; }

  /// Forward, backward, update. On the CPU: inline, on the calling thread.
  Stream& compute() { return compute_; }
  /// Collectives. On the CPU: one worker thread, which alone calls MPI.
  Stream& comm() { return comm_; }
  /// Input. On the CPU: inline.
  Stream& copy() { return copy_; }

  Event make_event() const;
  TimeMark make_time_mark() const;

 private:
  Context(Device device, int compute_threads, Stream compute, Stream comm, Stream copy)
      : device_(device),
        compute_threads_(compute_threads),
        compute_(std::move(compute)),
        comm_(std::move(comm)),
        copy_(std::move(copy)) {}

  Device device_;
  int compute_threads_;
  Stream compute_, comm_, copy_;
};

}  // namespace tandem

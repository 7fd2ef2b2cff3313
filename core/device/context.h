#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/device/device.h"
#include "core/device/device_impl.h"
#include "core/device/graph.h"
#include "core/device/stream.h"

namespace tandem {

/// One rank's device: its streams, its memory and what operations need beside their tensors. `main` owns it
/// and passes it on; nothing of it is global.
class Context {
 public:
  /// A CPU rank that computes with `compute_threads` threads (≥ 1).
  static Context cpu(int compute_threads = 1);
  /// The GPU `index` of this host. Makes it the calling thread's device: the rank's thread makes its own
  /// Context. With `tf32` products of f32 matrices are made in TF32 (10 bits of mantissa). Throws DeviceError
  /// if there is no such GPU (cuda_devices.h says beforehand).
  static Context cuda(int index, bool tf32 = false);

  /// No device: memory costs nothing and must not be touched, operations return at once. For walking a model
  /// of any size through its steps.
  static Context dry();

  Device device() const { return device_; }
  /// As its maker calls it: "NVIDIA H200"; of a CPU's, "" where the system does not say.
  std::string device_name() const { return impl_->name(); }
  MemoryInfo memory_info() const { return impl_->memory(); }
  /// A GPU's place on the bus, as the system's tools name it, and the version of its runtime library.
  std::string bus_id() const { return impl_->bus_id(); }
  std::string runtime() const { return impl_->runtime(); }
  /// Of the CPU backend; 1 on a GPU.
  int compute_threads() const { return compute_threads_; }

  /// Forward, backward, update. On the CPU: inline, on the calling thread.
  Stream& compute() { return *compute_; }
  /// Collectives on device memory. On the CPU: one worker thread, which alone calls MPI.
  Stream& comm() { return *comm_; }
  /// Input. On the CPU: inline.
  Stream& copy() { return *copy_; }
  /// Collectives on host memory: a worker thread, which alone calls MPI. On the CPU it is comm().
  Stream& control() { return *control_; }

  /// Operations in the order of comm(), between collectives: `work` is called with a Context whose compute()
  /// is that stream. On a GPU that happens at once and launches kernels there; on the CPU the stream's thread
  /// does it when its turn comes, so what `work` refers to must live until then. Whatever `work` needs fits
  /// into a Task. It computes with one thread, and allocates nothing.
  template <class Work>
  void on_comm(Work work) {
    if (device_.kind == DeviceKind::cpu)
      comm().enqueue([beside = beside_.get(), work = std::move(work)] { work(*beside); });
    else
      work(*beside_);
  }

  /// What `work` puts on the compute stream, and on streams that wait for it, becomes a graph instead of
  /// being run. The compute stream must have waited for those streams again when `work` returns. Throws
  /// ContractError on the CPU, whose work cannot be captured, and what `work` throws.
  Graph capture(const std::function<void()>& work);

  Event make_event() const;
  TimeMark make_time_mark() const;

  /// Zeros. Arena is the usual way to ask for them.
  DeviceMemory memory(std::int64_t bytes, DeviceMemory::Kind kind = DeviceMemory::Kind::device) const;

  DeviceImpl& impl() const { return *impl_; }

 private:
  Context(Device device, int compute_threads, std::shared_ptr<DeviceImpl> impl)
      : device_(device), compute_threads_(compute_threads), impl_(std::move(impl)) {}
  /// With the CPU's streams.
  static Context on_host(Device device, int compute_threads, std::shared_ptr<DeviceImpl> impl);

  Device device_;
  int compute_threads_;
  std::shared_ptr<DeviceImpl> impl_;
  std::shared_ptr<Stream> compute_, comm_, copy_, control_;  // two of them may be one
  std::shared_ptr<Context> beside_;                          // what on_comm() hands out
};

}  // namespace tandem

#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/tensor/arena.h"

namespace tandem {

/// A few numbers of the host's in device memory, sent there without the host waiting: what changes from step
/// to step, at an address that does not.
class StagedScalars {
 public:
  StagedScalars(Context& context, std::int64_t count);

  /// For all work that the compute stream is given from here on. `values`: count of them. Blocks only a host
  /// that is some steps ahead of the device.
  void send(std::span<const double> values);

  const Tensor& device() const { return device_; }  ///< [count] f64

 private:
  static constexpr int kSlots = 4;  // a slot is written again when the device has read it

  Context* context_;
  Arena device_memory_, staging_memory_;
  Tensor device_, staging_;  // [count], [kSlots, count]
  std::array<Event, kSlots> read_;
  int next_ = 0;
};

}  // namespace tandem

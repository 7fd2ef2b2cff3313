#pragma once

#include "core/device/cpu/cpu_device.h"

namespace tandem::dry {

/// No device: its memory has addresses and nothing behind them, so that touching it is a fault that shows.
class DryDevice final : public cpu::CpuDevice {
 public:
  std::byte* allocate(std::int64_t bytes) override;
  void release(std::byte* memory, std::int64_t bytes) noexcept override;
};

}  // namespace tandem::dry

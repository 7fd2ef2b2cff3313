#pragma once

#include <cstdint>
#include <string>

namespace tandem {

enum class DeviceKind { cpu, cuda, dry };

/// Where a rank computes. `index` numbers the GPUs of a host; it is 0 for the CPU. dry: nowhere, to learn
/// what a model would do.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;

  bool operator==(const Device&) const = default;
  std::string str() const {
    if (kind == DeviceKind::cuda) return "cuda:" + std::to_string(index);
    return kind == DeviceKind::cpu ? "cpu" : "dry";
  }
};

/// A device's memory, in bytes. The CPU's is the host's, which all its ranks share; `free` is then what the
/// system would give without swapping.
struct MemoryInfo {
  std::int64_t free = 0, total = 0;
};

}  // namespace tandem

#pragma once

#include <string>

namespace tandem {

enum class DeviceKind { cpu, cuda };

/// Where a rank computes. `index` numbers the GPUs of a host; it is 0 for the CPU.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;

  bool operator==(const Device&) const = default;
  std::string str() const {
    return kind == DeviceKind::cpu ? std::string("cpu") : "cuda:" + std::to_string(index);
  }
};

}  // namespace tandem

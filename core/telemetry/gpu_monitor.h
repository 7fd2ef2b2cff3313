#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tandem {

/// What a GPU is doing. Empty: this GPU, its driver or the permissions of this process do not tell.
struct GpuReading {
  std::optional<double> util_pct;  ///< share of time in which any kernel ran; a kernel that waits counts
  /// Shares of the time since the reading before, of Hopper and later: multiprocessors at work, warps on
  /// them, tensor cores, memory.
  std::optional<double> sm_pct, sm_occupancy_pct, tensor_pct, dram_pct;
  std::optional<double> nvlink_rx_gb_s, nvlink_tx_gb_s, pcie_rx_gb_s,
      pcie_tx_gb_s;  ///< 10⁹ bytes/s, since then
  std::optional<double> mem_mib, temp_c, power_w, sm_mhz;
  std::vector<std::string> throttle;  ///< why the clock is not higher: "power cap", "thermal", …
};

/// What does not change during a run.
struct GpuIdentity {
  std::string driver;
  std::optional<double> max_sm_mhz, power_cap_w;
  std::vector<int> processes;  ///< that compute on it, by their ids (this one may be among them)
  std::optional<int> nvlinks;  ///< links that are up; 0 where there are none
};

/// One GPU, seen through NVIDIA's management library (NVML), which is looked for at run time. Its functions
/// and structures are declared in the source, by NVML's reference manual: the toolkit does not always bring
/// the header.
class GpuMonitor {
 public:
  /// `pci_bus_id`: "0000:19:00.0". Null where there is no NVML or no such GPU.
  static std::unique_ptr<GpuMonitor> open(const std::string& pci_bus_id);
  virtual ~GpuMonitor() = default;

  virtual GpuIdentity identify() = 0;
  /// Takes some 0.1 ms of the calling thread.
  virtual GpuReading read() = 0;
};

}  // namespace tandem

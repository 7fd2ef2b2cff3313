#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/telemetry/gpu_monitor.h"
#include "core/telemetry/line_file.h"

namespace tandem {

/// Reads a GPU five times a second on a thread of its own and writes a line of device.rankR.jsonl each time.
class DeviceSampler {
 public:
  static constexpr std::chrono::milliseconds kInterval{200};

  /// `monitor` may be null: then nothing is sampled, and there is no file. Throws UsageError if the file
  /// cannot be written. `step` says which step the rank is in; any thread.
  DeviceSampler(std::unique_ptr<GpuMonitor> monitor, const std::filesystem::path& folder, int rank,
                std::function<std::int64_t()> step);
  DeviceSampler(const DeviceSampler&) = delete;
  DeviceSampler& operator=(const DeviceSampler&) = delete;
  ~DeviceSampler();

  // By the latest reading; empty before the first.
  std::optional<double> sm_mhz() const { return known(sm_mhz_); }
  std::optional<double> power_w() const { return known(power_w_); }

 private:
  static constexpr double kUnknown = -1;
  static std::optional<double> known(double value) {
    return value == kUnknown ? std::nullopt : std::optional(value);
  }
  void sample_now_and_then();
  void sample();

  std::unique_ptr<GpuMonitor> monitor_;
  std::unique_ptr<LineFile> file_;
  const std::function<std::int64_t()> step_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<double> sm_mhz_{kUnknown}, power_w_{kUnknown};
  std::mutex mutex_;  // guards closing_
  bool closing_ = false;
  std::condition_variable closed_;
  std::thread thread_;
};

}  // namespace tandem

#include "core/telemetry/device_sampler.h"

#include <pthread.h>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/telemetry/step_line.h"

namespace tandem {

namespace {

using Json = nlohmann::ordered_json;

Json or_null(std::optional<double> value) {
  return value ? Json(*value) : Json();
}

std::string line_of(double t_ms, std::int64_t step, const GpuReading& r) {
  const Json json = {{"version", kLogVersion},
                     {"t_ms", t_ms},
                     {"step", step},
                     {"util_pct", or_null(r.util_pct)},
                     {"sm_pct", or_null(r.sm_pct)},
                     {"sm_occupancy_pct", or_null(r.sm_occupancy_pct)},
                     {"tensor_pct", or_null(r.tensor_pct)},
                     {"dram_pct", or_null(r.dram_pct)},
                     {"nvlink_rx", or_null(r.nvlink_rx_gb_s)},
                     {"nvlink_tx", or_null(r.nvlink_tx_gb_s)},
                     {"pcie_rx", or_null(r.pcie_rx_gb_s)},
                     {"pcie_tx", or_null(r.pcie_tx_gb_s)},
                     {"mem_mib", or_null(r.mem_mib)},
                     {"temp_c", or_null(r.temp_c)},
                     {"power_w", or_null(r.power_w)},
                     {"sm_mhz", or_null(r.sm_mhz)},
                     {"throttle", r.throttle}};
  return json.dump() + "\n";
}

}  // namespace

DeviceSampler::DeviceSampler(std::unique_ptr<GpuMonitor> monitor, const std::filesystem::path& folder,
                             int rank, std::function<std::int64_t()> step)
    : monitor_(std::move(monitor)), step_(std::move(step)) {
  if (!monitor_) return;
  file_ = std::make_unique<LineFile>(folder / fmt::format("device.rank{}.jsonl", rank));
  thread_ = std::thread([this] { sample_now_and_then(); });
  pthread_setname_np(thread_.native_handle(), "device sampler");
}

DeviceSampler::~DeviceSampler() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  closed_.notify_all();
  thread_.join();
}

void DeviceSampler::sample_now_and_then() {
  std::unique_lock lock(mutex_);
  while (!closed_.wait_for(lock, kInterval, [&] { return closing_; })) {
    lock.unlock();
    sample();
    lock.lock();
  }
}

void DeviceSampler::sample() {
  const GpuReading reading = monitor_->read();
  sm_mhz_ = reading.sm_mhz.value_or(kUnknown);
  power_w_ = reading.power_w.value_or(kUnknown);
  const std::chrono::duration<double, std::milli> since = std::chrono::steady_clock::now() - start_;
  try {
    file_->append(line_of(since.count(), step_(), reading));
    file_->flush();
  } catch (const DeviceError&) {  // a full disk: the log of steps says so
  }
}

}  // namespace tandem

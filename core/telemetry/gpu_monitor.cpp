#include "core/telemetry/gpu_monitor.h"

#include <array>
#include <cstdint>
#include <dlfcn.h>
#include <utility>

namespace tandem {

namespace {

// NVML, as its reference manual has it (versions 525 to 580). All functions return 0 where they succeed.

using Device = struct NvmlDevice*;
using GpmSample = struct NvmlGpmSample*;

struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance, compute_instance;
};
struct GpmSupport {
  unsigned version, supported;
};
struct GpmMetric {
  unsigned id;
  int status;
  double value;
  const char *short_name, *long_name, *unit;
};
struct GpmMetrics {
  unsigned version = 1, count = 0;
  GpmSample before = nullptr, after = nullptr;
  std::array<GpmMetric, 512> metrics{};  // more than any version reads; the first `count` are
};

constexpr unsigned kGpmVersion = 1, kSmClock = 1, kTemperature = 0, kMostLinks = 18;
/// Ids of GPM's metrics.
enum Gpm : unsigned {
  kSmUtil = 2,
  kSmOccupancy = 3,
  kTensorUtil = 5,
  kDramUtil = 10,
  kPcieTx = 20,  // MiB/s, as are those that follow
  kPcieRx = 21,
  kNvlinkRx = 60,
  kNvlinkTx = 62,
};

constexpr std::array<std::pair<unsigned long long, const char*>, 7> kThrottles = {{
    {0x04, "power cap"},
    {0x08, "hardware slowdown"},
    {0x10, "sync boost"},
    {0x20, "thermal"},
    {0x40, "hardware thermal"},
    {0x80, "power brake"},
    {0x02, "application clocks"},
}};

/// The library, open as long as this lives.
class Library {
 public:
  Library() : handle_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) return;
    started_ = call<int()>("nvmlInit_v2").value_or(1) == 0;
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (started_) call<int()>("nvmlShutdown");
    if (handle_) dlclose(handle_);
  }
  bool started() const { return started_; }

  /// The result of a function; empty where this version has none of that name.
  template <class Signature, class... Arguments>
  std::optional<int> call(const char* name, Arguments... arguments) const {
    auto* function = reinterpret_cast<Signature*>(dlsym(handle_, name));
    return function ? std::optional<int>(function(arguments...)) : std::nullopt;
  }

 private:
  void* handle_;
  bool started_ = false;
};

class Nvml final : public GpuMonitor {
 public:
  explicit Nvml(const std::string& pci_bus_id) {
    if (!library_.started() || !ok(library_.call<int(const char*, Device*)>(
                                   "nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &device_))) {
      device_ = nullptr;
      return;
    }
    GpmSupport support{kGpmVersion, 0};
    if (!ok(library_.call<int(Device, GpmSupport*)>("nvmlGpmQueryDeviceSupport", device_, &support)) ||
        support.supported == 0)
      return;
    for (GpmSample& sample : samples_) library_.call<int(GpmSample*)>("nvmlGpmSampleAlloc", &sample);
    if (samples_[0] && samples_[1]) sampled_ = take_sample();
  }
  ~Nvml() override {
    for (GpmSample sample : samples_)
      if (sample) library_.call<int(GpmSample)>("nvmlGpmSampleFree", sample);
  }
  bool found() const { return device_ != nullptr; }

  GpuIdentity identify() override {
    GpuIdentity identity;
    char text[96] = "";
    if (ok(library_.call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", text, unsigned{sizeof text})))
      identity.driver = text;
    identity.max_sm_mhz =
        number<int(Device, unsigned, unsigned*)>("nvmlDeviceGetMaxClockInfo", device_, kSmClock);
    identity.power_cap_w =
        scaled(1e-3, number<int(Device, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit", device_));
    std::array<ProcessInfo, 64> processes{};
    unsigned count = processes.size();
    if (ok(library_.call<int(Device, unsigned*, ProcessInfo*)>("nvmlDeviceGetComputeRunningProcesses_v3",
                                                               device_, &count, processes.data())))
      for (unsigned i = 0; i < count; ++i) identity.processes.push_back(static_cast<int>(processes[i].pid));
    identity.nvlinks = 0;
    for (unsigned link = 0; link < kMostLinks; ++link)
      if (number<int(Device, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState", device_, link).value_or(0) > 0)
        ++*identity.nvlinks;
    return identity;
  }

  GpuReading read() override {
    GpuReading reading;
    Utilization utilization{};
    if (ok(library_.call<int(Device, Utilization*)>("nvmlDeviceGetUtilizationRates", device_, &utilization)))
      reading.util_pct = utilization.gpu;
    Memory memory{};
    if (ok(library_.call<int(Device, Memory*)>("nvmlDeviceGetMemoryInfo", device_, &memory)))
      reading.mem_mib = static_cast<double>(memory.used) / (1 << 20);
    reading.temp_c =
        number<int(Device, unsigned, unsigned*)>("nvmlDeviceGetTemperature", device_, kTemperature);
    reading.power_w = scaled(1e-3, number<int(Device, unsigned*)>("nvmlDeviceGetPowerUsage", device_));
    reading.sm_mhz = number<int(Device, unsigned, unsigned*)>("nvmlDeviceGetClockInfo", device_, kSmClock);
    unsigned long long reasons = 0;
    if (ok(library_.call<int(Device, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons",
                                                           device_, &reasons)))
      for (const auto& [bit, name] : kThrottles)
        if (reasons & bit) reading.throttle.push_back(name);
    read_metrics(reading);
    return reading;
  }

 private:
  static bool ok(std::optional<int> status) { return status && *status == 0; }
  static std::optional<double> scaled(double factor, std::optional<double> value) {
    return value ? std::optional(*value * factor) : std::nullopt;
  }
  /// What a function writes to its last argument, an unsigned.
  template <class Signature, class... Arguments>
  std::optional<double> number(const char* name, Arguments... arguments) const {
    unsigned value = 0;
    return ok(library_.call<Signature>(name, arguments..., &value)) ? std::optional<double>(value)
                                                                    : std::nullopt;
  }

  bool take_sample() {
    std::swap(samples_[0], samples_[1]);
    return ok(library_.call<int(Device, GpmSample)>("nvmlGpmSampleGet", device_, samples_[1]));
  }

  void read_metrics(GpuReading& reading) {
    if (!samples_[0] || !samples_[1]) return;
    const bool sampled_before = std::exchange(sampled_, take_sample());
    if (!sampled_before || !sampled_) return;
    constexpr double kMib = 1048576e-9;  // in 10⁹ bytes
    const std::pair<Gpm, std::pair<std::optional<double>*, double>> wanted[] = {
        {kSmUtil, {&reading.sm_pct, 1}},
        {kSmOccupancy, {&reading.sm_occupancy_pct, 1}},
        {kTensorUtil, {&reading.tensor_pct, 1}},
        {kDramUtil, {&reading.dram_pct, 1}},
        {kPcieTx, {&reading.pcie_tx_gb_s, kMib}},
        {kPcieRx, {&reading.pcie_rx_gb_s, kMib}},
        {kNvlinkRx, {&reading.nvlink_rx_gb_s, kMib}},
        {kNvlinkTx, {&reading.nvlink_tx_gb_s, kMib}}};
    metrics_.before = samples_[0];
    metrics_.after = samples_[1];
    metrics_.count = 0;
    for (const auto& [id, where] : wanted) metrics_.metrics[metrics_.count++].id = id;
    if (!ok(library_.call<int(GpmMetrics*)>("nvmlGpmMetricsGet", &metrics_))) return;
    for (unsigned i = 0; i < metrics_.count; ++i)
      if (metrics_.metrics[i].status == 0)
        *wanted[i].second.first = metrics_.metrics[i].value * wanted[i].second.second;
  }

  Library library_;
  Device device_ = nullptr;
  std::array<GpmSample, 2> samples_{};  // the one before, and the latest
  bool sampled_ = false;
  GpmMetrics metrics_;
};

}  // namespace

std::unique_ptr<GpuMonitor> GpuMonitor::open(const std::string& pci_bus_id) {
  auto monitor = std::make_unique<Nvml>(pci_bus_id);
  return monitor->found() ? std::move(monitor) : nullptr;
}

}  // namespace tandem

#include "core/device/cpu/cpu_device.h"

#include <fstream>
#include <sys/mman.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/device/cpu/cpu_event.h"

namespace tandem::cpu {

namespace {

constexpr std::int64_t kHugePage = 2 << 20;

/// Bytes to map for that many. Large ones are whole huge pages: a matrix whose rows are 4 KiB long would need
/// an entry of the TLB for each of its rows otherwise.
std::int64_t mapping_size(std::int64_t bytes) {
  return bytes < kHugePage ? bytes : (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

/// Maps that many bytes of zeros, from the start of a huge page if they are large. Null if there is no
/// memory.
std::byte* map_zeros(std::int64_t size) {
  const std::int64_t spare = size < kHugePage ? 0 : kHugePage;  // to cut the unaligned ends off
  void* memory = mmap(nullptr, static_cast<std::size_t>(size + spare), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* base = static_cast<std::byte*>(memory);
  if (spare == 0) return base;
  const std::int64_t head =
      (kHugePage - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(base)) % kHugePage) % kHugePage;
  if (head > 0) munmap(base, static_cast<std::size_t>(head));
  if (spare > head) munmap(base + head + size, static_cast<std::size_t>(spare - head));
  madvise(base + head, static_cast<std::size_t>(size), MADV_HUGEPAGE);  // a hint; refusal does no harm
  return base + head;
}

/// What follows "key : " in the first such line of a file of /proc; empty where there is none.
std::string proc_value(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return line.substr(line.find_first_not_of(" \t", line.find(':') + 1));
  return "";
}

std::int64_t proc_bytes(std::string_view key) {
  const std::string kib = proc_value("/proc/meminfo", key);
  return kib.empty() ? 0 : std::stoll(kib) * 1024;
}

}  // namespace

std::string CpuDevice::name() const {
  return proc_value("/proc/cpuinfo", "model name");
}

MemoryInfo CpuDevice::memory() const {
  return {proc_bytes("MemAvailable"), proc_bytes("MemTotal")};
}

std::unique_ptr<EventImpl> CpuDevice::make_event() const {
  return std::make_unique<CpuEvent>();
}

std::unique_ptr<TimeMarkImpl> CpuDevice::make_time_mark() const {
  return std::make_unique<CpuTimeMark>();
}

std::unique_ptr<GraphImpl> CpuDevice::capture(StreamImpl&, const std::function<void()>&) {
  throw ContractError("the CPU's work cannot be captured in a graph");
}

std::byte* CpuDevice::allocate(std::int64_t bytes) {
  std::byte* memory = map_zeros(mapping_size(bytes));
  if (!memory)
    throw DeviceError("no memory for {}: choose a smaller model or batch",
                      human_bytes(static_cast<double>(bytes)));
  return memory;
}

void CpuDevice::release(std::byte* memory, std::int64_t bytes) noexcept {
  munmap(memory, static_cast<std::size_t>(mapping_size(bytes)));
}

}  // namespace tandem::cpu

#include "core/device/cuda/cuda_device.h"

#include <algorithm>
#include <cstring>

#include "core/base/text.h"
#include "core/device/cpu/cpu_stream.h"
#include "core/device/cuda/cuda_check.h"
#include "core/device/cuda/cuda_event.h"
#include "core/device/cuda/cuda_graph.h"
#include "core/device/cuda/cuda_stream.h"
#include "core/device/cuda_devices.h"

namespace tandem {

namespace cuda {

CudaDevice::CudaDevice(int index, bool tf32) : index_(index), tf32_(tf32) {
  TANDEM_CUDA(cudaSetDevice(index));
  TANDEM_CUDA(cudaGetDeviceProperties(&properties_, index));
}

std::unique_ptr<EventImpl> CudaDevice::make_event() const {
  return std::make_unique<CudaEvent>();
}

std::unique_ptr<TimeMarkImpl> CudaDevice::make_time_mark() const {
  return std::make_unique<CudaTimeMark>();
}

std::unique_ptr<GraphImpl> CudaDevice::capture(StreamImpl& stream, const std::function<void()>& work) {
  return cuda::capture(stream, work);
}

std::string CudaDevice::name() const {
  return properties_.name;
}

MemoryInfo CudaDevice::memory() const {
  std::size_t free = 0, total = 0;
  TANDEM_CUDA(cudaMemGetInfo(&free, &total));
  return {static_cast<std::int64_t>(free), static_cast<std::int64_t>(total)};
}

std::string CudaDevice::bus_id() const {
  char id[32] = "";
  TANDEM_CUDA(cudaDeviceGetPCIBusId(id, sizeof id, index_));
  return id;
}

std::string CudaDevice::runtime() const {
  int version = 0;
  TANDEM_CUDA(cudaRuntimeGetVersion(&version));
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::byte* CudaDevice::allocate(std::int64_t bytes) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, static_cast<std::size_t>(bytes)) != cudaSuccess) {
    cudaGetLastError();  // an error of this kind is over when it is told
    const MemoryInfo info = this->memory();
    const auto human = [](std::int64_t n) { return human_bytes(static_cast<double>(n)); };
    throw DeviceError("no GPU memory for {}: {} of {} are free, {} are missing", human(bytes),
                      human(info.free), human(info.total),
                      human(std::max<std::int64_t>(bytes - info.free, 0)));
  }
  TANDEM_CUDA(cudaMemset(memory, 0, static_cast<std::size_t>(bytes)));
  TANDEM_CUDA(cudaDeviceSynchronize());
  return static_cast<std::byte*>(memory);
}

void CudaDevice::release(std::byte* memory, std::int64_t) noexcept {
  cudaFree(memory);
}

std::byte* CudaDevice::allocate_staging(std::int64_t bytes) {
  void* memory = nullptr;
  TANDEM_CUDA(cudaMallocHost(&memory, static_cast<std::size_t>(bytes)));
  std::memset(memory, 0, static_cast<std::size_t>(bytes));
  return static_cast<std::byte*>(memory);
}

void CudaDevice::release_staging(std::byte* memory, std::int64_t) noexcept {
  cudaFreeHost(memory);
}

}  // namespace cuda

CudaDevices find_cuda_devices() noexcept {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return {.count = count, .absence = ""};
  cudaGetLastError();
  if (status == cudaErrorInsufficientDriver)  // what CUDA says where there is no driver at all
    return {.count = 0, .absence = "no NVIDIA driver that this CUDA can work with"};
  return {.count = 0, .absence = status == cudaSuccess ? "no GPU" : cudaGetErrorString(status)};
}

Context Context::cuda(int index, bool tf32) {
  const CudaDevices found = find_cuda_devices();
  if (index < 0 || index >= found.count)
    throw DeviceError("no GPU {}: {}", index,
                      found.count > 0 ? fmt::format("this host has {}", found.count) : found.absence);
  using cuda::CudaStream;
  Context context(Device{DeviceKind::cuda, index}, 1, std::make_shared<cuda::CudaDevice>(index, tf32));
  const auto stream = [](auto impl) { return std::make_shared<Stream>(std::move(impl)); };
  context.compute_ = stream(std::make_unique<CudaStream>());
  context.comm_ = stream(std::make_unique<CudaStream>(CudaStream::Priority::high));
  context.copy_ = stream(std::make_unique<CudaStream>());
  context.control_ = stream(std::make_unique<cpu::WorkerStream>("control"));
  // With workspaces and handles of its own: its operations run at the same time as the context's.
  context.beside_.reset(new Context(context.device_, 1, std::make_shared<cuda::CudaDevice>(index, tf32)));
  context.beside_->compute_ = context.comm_;
  return context;
}

}  // namespace tandem

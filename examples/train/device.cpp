#include "examples/train/device.h"

#include "core/device/cuda_devices.h"

namespace tandem::train {

namespace {

ChosenDevice cpu(const Options& o, std::string note = "") {
  ChosenDevice chosen{Context::cpu(static_cast<int>(o.compute_threads)), std::move(note), {}};
  if (o.precision != "fp32")
    chosen.error = UsageError("--precision {}: the CPU computes in fp32; leave the option out", o.precision);
  return chosen;
}

}  // namespace

ChosenDevice choose_device(const Options& o, const Place& place) {
  if (o.device == "cpu") return cpu(o);
  const CudaDevices gpus = find_cuda_devices();
  if (gpus.count == 0) {
    if (o.device == "auto") return cpu(o, gpus.built ? gpus.absence : "");
    ChosenDevice chosen = cpu(o);
    chosen.error = UsageError("--device cuda: {}; use --device cpu", gpus.absence);
    return chosen;
  }
  if (place.local_size > gpus.count) {
    ChosenDevice chosen = cpu(o);
    chosen.error = UsageError("{} ranks on a host with {} GPU{}: start at most {}, or give --device cpu",
                              place.local_size, gpus.count, gpus.count == 1 ? "" : "s", gpus.count);
    return chosen;
  }
  ChosenDevice chosen{Context::cuda(place.local_rank, o.precision == "tf32"), "", {}};
  for (const std::string& fault : o.inject)
    if (fault.starts_with("link="))
      chosen.error = UsageError(
          "--inject {}: it holds back the CPU's comm thread, which a GPU has none of; give "
          "--device cpu",
          fault);
  return chosen;
}

DType compute_dtype(const Options& o) {
  return o.precision == "bf16" ? DType::bf16 : o.precision == "fp16" ? DType::f16 : DType::f32;
}

DType gradient_dtype(const Options& o) {
  if (o.grad_dtype.empty()) return o.accumulate > 1 ? DType::f32 : compute_dtype(o);
  return o.grad_dtype == "fp32" ? DType::f32 : compute_dtype(o);
}

}  // namespace tandem::train

#include "examples/train/device.h"

#include "core/device/cuda_devices.h"

namespace tandem::train {

namespace {

ChosenDevice cpu(const Options& o, std::string note = "") {
  ChosenDevice chosen{Context::cpu(static_cast<int>(o.compute_threads)), std::move(note), {}};
  if (o.precision != "fp32")
    chosen.error = UsageError("--precision {}: the CPU computes in fp32; leave the option out", o.precision);
  if (!o.grad_dtype.empty() && o.grad_dtype != "fp32")
    chosen.error =
        UsageError("--grad-dtype {}: the CPU computes in fp32; leave the option out", o.grad_dtype);
  return chosen;
}

}  // namespace

ChosenDevice choose_device(const Options& o, int local_rank, int local_ranks) {
  if (o.device == "cpu") return cpu(o);
  const CudaDevices gpus = find_cuda_devices();
  if (gpus.count == 0) {
    if (o.device == "auto") return cpu(o, gpus.built ? gpus.absence : "");
    ChosenDevice chosen = cpu(o);
    chosen.error = UsageError("--device cuda: {}; use --device cpu", gpus.absence);
    return chosen;
  }
  if (local_ranks > gpus.count) {
    ChosenDevice chosen = cpu(o);
    chosen.error = UsageError("{} ranks on a host with {} GPU{}: start at most {}, or give --device cpu",
                              local_ranks, gpus.count, gpus.count == 1 ? "" : "s", gpus.count);
    return chosen;
  }
  return {Context::cuda(local_rank, o.precision == "tf32"), "", {}};
}

namespace {

DType dtype_named(const std::string& precision) {
  return precision == "bf16" ? DType::bf16 : precision == "fp16" ? DType::f16 : DType::f32;
}

}  // namespace

DType compute_dtype(const Options& o) {
  return dtype_named(o.precision);
}

DType gradient_dtype(const Options& o) {
  return dtype_named(o.grad_dtype.empty() ? o.precision : o.grad_dtype);
}

}  // namespace tandem::train

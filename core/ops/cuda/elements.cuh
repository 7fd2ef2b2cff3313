#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "core/base/dtype.h"

namespace tandem::ops::cuda {

/// Calls `f(T{})` with T = float, __nv_bfloat16 or __half as `dtype` says.
template <class F>
decltype(auto) visit_device(DType dtype, F&& f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::bf16) return f(__nv_bfloat16{});
  if (dtype == DType::f16) return f(__half{});
  throw ContractError("a GPU computes in f32, bf16 and f16, not in {}", name_of(dtype));
}

/// The elements of a 16-byte access.
template <class T>
inline constexpr int kPerVector = 16 / sizeof(T);

template <class T>
__device__ inline float to_float(T x) {
  return static_cast<float>(x);
}
template <class T>
__device__ inline T from_float(float x) {
  return static_cast<T>(x);  // to nearest even
}

}  // namespace tandem::ops::cuda

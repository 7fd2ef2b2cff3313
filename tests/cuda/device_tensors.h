#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <random>
#include <utility>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/device/context.h"
#include "core/tensor/arena.h"

// What the tests of a GPU's operations compare: tensors on the GPU in the type that it computes in, and their
// twins on the host, the same values in f64, on which the CPU's operation is run.

namespace tandem {

using Values = std::vector<double>;
using Bytes = std::vector<std::byte>;

/// The most that a result may differ from its twin, as error_of() measures it, by the type that it is stored
/// in.
inline double tolerance_of(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 ? 1e-5 : dtype == DType::f16 ? 2e-3 : 1e-2;
}

/// ‖ours − twin‖ / ‖twin‖, or ‖ours‖ where the twin is 0. NaN if one of ours is.
inline double error_of(const Values& ours, const Values& twin) {
  require(ours.size() == twin.size(), "{} values compared with {}", ours.size(), twin.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < twin.size(); ++i) {
    difference += (ours[i] - twin[i]) * (ours[i] - twin[i]);
    norm += twin[i] * twin[i];
  }
  return std::sqrt(norm > 0 ? difference / norm : difference);
}

/// Calls `f` with an element of that type as the host knows it.
template <class F>
decltype(auto) visit_element(DType dtype, F&& f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::f64) return f(double{});
  if (dtype == DType::bf16) return f(__nv_bfloat16{});
  if (dtype == DType::f16) return f(__half{});
  if (dtype == DType::i32) return f(std::int32_t{});
  if (dtype == DType::i64) return f(std::int64_t{});
  throw ContractError("the tests have no values of {}", name_of(dtype));
}

/// As they lie in memory, rounded to the nearest that `dtype` can hold.
inline Bytes stored(DType dtype, const Values& values) {
  return visit_element(dtype, [&](auto zero) {
    using T = decltype(zero);
    Bytes bytes(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T element = static_cast<T>(values[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
    return bytes;
  });
}

inline Values read(DType dtype, const Bytes& bytes) {
  return visit_element(dtype, [&](auto zero) {
    using T = decltype(zero);
    Values values(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      T element;
      std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
      if constexpr (sizeof(T) == 2)
        values[i] = static_cast<float>(element);
      else
        values[i] = static_cast<double>(element);
    }
    return values;
  });
}

/// The twin of a tensor. (Integers are no twins: Tensor::of an array of their own.)
inline Tensor host(Values& values, Shape shape) {
  return Tensor::of(values.data(), shape);
}

enum class Address {
  aligned,
  one_off  ///< one element after an aligned one: no vector access is possible
};

/// A tensor that owns its memory on the GPU. Usable as a Tensor; the default one as an empty Tensor.
class DeviceTensor {
 public:
  DeviceTensor() = default;
  /// Poisoned.
  DeviceTensor(Context& context, DType dtype, Shape shape, Address address = Address::aligned)
      : context_(&context),
        arena_(context, (shape.numel() + 1) * static_cast<std::int64_t>(size_of(dtype))),
        tensor_(arena_.allocate(dtype, {shape.numel() + 1})
                    .slice(address == Address::one_off ? 1 : 0, shape.numel())
                    .reshape(shape)) {
    poison();
  }
  DeviceTensor(Context& context, DType dtype, Shape shape, const Values& values,
               Address address = Address::aligned)
      : DeviceTensor(context, dtype, shape, address) {
    upload(values);
  }

  const Tensor& tensor() const { return tensor_; }
  operator const Tensor&() const { return tensor_; }  // NOLINT: it stands for one

  /// Sets every bit, which is a NaN in every floating type.
  void poison() const { copy_in(Bytes(static_cast<std::size_t>(tensor_.bytes()), std::byte{0xff})); }
  void upload(const Values& values) const {
    require(static_cast<std::int64_t>(values.size()) == tensor_.numel(), "{} values for a tensor of {}",
            values.size(), tensor_.shape().str());
    copy_in(stored(tensor_.dtype(), values));
  }
  Values download() const { return read(tensor_.dtype(), bytes()); }
  Bytes bytes() const {
    Bytes bytes(static_cast<std::size_t>(tensor_.bytes()));
    if (bytes.empty()) return bytes;
    context_->compute().copy(bytes.data(), tensor_.data(), bytes.size());
    context_->compute().synchronize();
    return bytes;
  }

 private:
  void copy_in(const Bytes& bytes) const {
    if (bytes.empty()) return;
    context_->compute().copy(tensor_.data(), bytes.data(), bytes.size());
    context_->compute().synchronize();
  }

  Context* context_ = nullptr;
  Arena arena_;
  Tensor tensor_;
};

/// A GPU, a CPU for the twins, and random values. Where there is no GPU its constructor throws, so the test
/// fails.
class Bench {
 public:
  explicit Bench(bool tf32 = false) : gpu(Context::cuda(0, tf32)) {}

  /// Normal values that `dtype` can hold.
  Values random(DType dtype, std::int64_t count, double deviation = 1) {
    std::normal_distribution<double> normal(0, deviation);
    Values values(static_cast<std::size_t>(count));
    for (double& value : values) value = normal(random_);
    return read(dtype, stored(dtype, values));
  }
  DeviceTensor poisoned(DType dtype, Shape shape, Address address = Address::aligned) {
    return {gpu, dtype, shape, address};
  }
  DeviceTensor upload(DType dtype, Shape shape, const Values& values, Address address = Address::aligned) {
    return {gpu, dtype, shape, values, address};
  }

  Context gpu;
  Context cpu = Context::cpu(2);

 private:
  std::mt19937_64 random_{20240817};
};

}  // namespace tandem

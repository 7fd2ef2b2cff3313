#pragma once

#include <cstdint>

#include "core/base/dtype.h"
#include "core/base/shape.h"

namespace tandem {

/// Shape and element type of a tensor that need not exist yet.
struct TensorSpec {
  DType dtype = DType::f32;
  Shape shape;
};

/// A non-owning, dense, row-major view of device memory: whoever made it (an Arena, a ParameterStore, a
/// loader) owns the bytes. Cheap to copy; const means that the view does not change, not the elements.
class Tensor {
 public:
  Tensor() = default;
  Tensor(void* data, DType dtype, Shape shape) : data_(data), dtype_(dtype), shape_(shape) {}
  /// A view of a plain array.
  template <class T>
  static Tensor of(T* data, Shape shape) {
    return {data, dtype_of<T>, shape};
  }

  /// False for a tensor that was never given memory (an absent bias, say).
  explicit operator bool() const { return data_ != nullptr; }

  void* data() const { return data_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  TensorSpec spec() const { return {dtype_, shape_}; }
  std::int64_t numel() const { return shape_.numel(); }
  std::int64_t rows() const { return shape_.rows(); }
  std::int64_t last() const { return shape_.last(); }
  std::int64_t bytes() const { return numel() * static_cast<std::int64_t>(size_of(dtype_)); }

  /// The elements as T; throws if T is not the tensor's dtype.
  template <class T>
  T* as() const {
    require(dtype_ == dtype_of<T>, "a tensor of {} read as {}", name_of(dtype_), name_of(dtype_of<T>));
    return static_cast<T*>(data_);
  }

  /// The same memory under another shape of equal size.
  Tensor reshape(Shape shape) const;
  /// Elements [offset, offset + count) of the flattened tensor, as one dimension.
  Tensor slice(std::int64_t offset, std::int64_t count) const;

 private:
  void* data_ = nullptr;
  DType dtype_ = DType::f32;
  Shape shape_;
};

}  // namespace tandem

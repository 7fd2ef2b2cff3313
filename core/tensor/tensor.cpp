#include "core/tensor/tensor.h"

namespace tandem {

Tensor Tensor::reshape(Shape shape) const {
  require(shape.numel() == numel(), "{} cannot be seen as {}", shape_.str(), shape.str());
  return {data_, dtype_, shape};
}

Tensor Tensor::slice(std::int64_t offset, std::int64_t count) const {
  require(offset >= 0 && count >= 0 && offset + count <= numel(), "slice [{}, +{}) of {} elements", offset,
          count, numel());
  auto* start = static_cast<std::byte*>(data_);
  if (start) start += offset * static_cast<std::int64_t>(size_of(dtype_));
  return {start, dtype_, Shape{count}};
}

}  // namespace tandem

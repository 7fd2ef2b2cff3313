#include "core/tensor/copy.h"

namespace tandem {

void copy(Stream& stream, const Tensor& from, const Tensor& to) {
  require(from.dtype() == to.dtype() && from.numel() == to.numel(), "cannot copy {} {} to {} {}",
          name_of(from.dtype()), from.shape().str(), name_of(to.dtype()), to.shape().str());
  if (from.numel() == 0) return;
  stream.copy(to.data(), from.data(), static_cast<std::size_t>(from.bytes()));
}

}  // namespace tandem

#include "core/tensor/arena.h"

#include <algorithm>
#include <utility>

namespace tandem {

namespace {

std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

}  // namespace

Arena::Arena(const Context& context, std::int64_t bytes, DeviceMemory::Kind kind)
    : memory_(context.memory(std::max(round_up(bytes, kAlignment), kAlignment), kind)) {}

Tensor Arena::allocate(DType dtype, Shape shape) {
  require(!sealed_, "an arena was asked for {} {} after planning had ended", name_of(dtype), shape.str());
  const std::int64_t bytes = round_up(shape.numel() * static_cast<std::int64_t>(size_of(dtype)), kAlignment);
  require(measuring() || top_ + bytes <= memory_.bytes(),
          "the second planning pass wants more memory than the first: {} of {} bytes", top_ + bytes,
          memory_.bytes());
  void* data = measuring() ? nullptr : memory_.data() + top_;
  top_ += bytes;
  peak_ = std::max(peak_, top_);
  return {data, dtype, shape};
}

void Arena::swap(Arena& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(top_, other.top_);
  std::swap(peak_, other.peak_);
  std::swap(sealed_, other.sealed_);
}

}  // namespace tandem

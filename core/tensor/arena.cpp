#include "core/tensor/arena.h"

#include <algorithm>
#include <sys/mman.h>
#include <utility>

#include "core/base/text.h"

namespace tandem {

namespace {

std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

}  // namespace

Arena::Arena(const Context&, std::int64_t bytes)
    : capacity_(std::max(round_up(bytes, kAlignment), kAlignment)) {
  void* memory = mmap(nullptr, static_cast<std::size_t>(capacity_), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw DeviceError("no memory for {}: choose a smaller model or batch",
                      human_bytes(static_cast<double>(capacity_)));
  madvise(memory, static_cast<std::size_t>(capacity_), MADV_HUGEPAGE);  // a hint; refusal does no harm
  base_ = static_cast<std::byte*>(memory);
}

Arena::~Arena() {
  if (base_) munmap(base_, static_cast<std::size_t>(capacity_));
}

Tensor Arena::allocate(DType dtype, Shape shape) {
  require(!sealed_, "an arena was asked for {} {} after planning had ended", name_of(dtype), shape.str());
  const std::int64_t bytes = round_up(shape.numel() * static_cast<std::int64_t>(size_of(dtype)), kAlignment);
  require(measuring() || top_ + bytes <= capacity_,
          "the second planning pass wants more memory than the first: {} of {} bytes", top_ + bytes,
          capacity_);
  void* data = measuring() ? nullptr : base_ + top_;
  top_ += bytes;
  peak_ = std::max(peak_, top_);
  return {data, dtype, shape};
}

void Arena::swap(Arena& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(capacity_, other.capacity_);
  std::swap(top_, other.top_);
  std::swap(peak_, other.peak_);
  std::swap(sealed_, other.sealed_);
}

}  // namespace tandem

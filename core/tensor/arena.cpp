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

constexpr std::int64_t kHugePage = 2 << 20;

/// Bytes to map for an arena. Large ones are whole huge pages: a matrix whose rows are 4 KiB long would need
/// an entry of the TLB for each of its rows otherwise.
std::int64_t mapping_size(std::int64_t capacity) {
  return capacity < kHugePage ? capacity : round_up(capacity, kHugePage);
}

/// Maps that many bytes of zeros, from the start of a huge page if they are large. Null if there is no
/// memory.
std::byte* map_zeros(std::int64_t size) {
  const std::int64_t spare = size < kHugePage ? 0 : kHugePage;  // to cut the unaligned ends off
  void* memory = mmap(nullptr, static_cast<std::size_t>(size + spare), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* base = static_cast<std::byte*>(memory);
  if (spare == 0) return base;
  const std::int64_t head =
      (kHugePage - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(base)) % kHugePage) % kHugePage;
  if (head > 0) munmap(base, static_cast<std::size_t>(head));
  if (spare > head) munmap(base + head + size, static_cast<std::size_t>(spare - head));
  madvise(base + head, static_cast<std::size_t>(size), MADV_HUGEPAGE);  // a hint; refusal does no harm
  return base + head;
}

}  // namespace

Arena::Arena(const Context&, std::int64_t bytes)
    : capacity_(std::max(round_up(bytes, kAlignment), kAlignment)) {
  base_ = map_zeros(mapping_size(capacity_));
  if (!base_)
    throw DeviceError("no memory for {}: choose a smaller model or batch",
                      human_bytes(static_cast<double>(capacity_)));
}

Arena::~Arena() {
  if (base_) munmap(base_, static_cast<std::size_t>(mapping_size(capacity_)));
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

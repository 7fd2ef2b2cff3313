#include "tests/unit/ops/allocation_counter.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

// glibc's own functions under the names that stay when a program defines malloc.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

std::atomic<std::int64_t> counter{0};

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  ++counter;
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
  ++counter;
  return __libc_calloc(count, size);
}

void* realloc(void* memory, std::size_t size) {
  ++counter;
  return __libc_realloc(memory, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++counter;
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  ++counter;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

}  // extern "C"

std::int64_t tandem::allocations() {
  return counter;
}

#pragma once

#include <cstdint>

namespace tandem {

/// Allocations made so far by the whole program, which must be linked with counting_allocator.cpp.
std::int64_t allocations();

}  // namespace tandem

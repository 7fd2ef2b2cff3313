#pragma once

#include <cstdint>

namespace tandem {

/// How often any thread of this program has asked the C library for memory so far (malloc and its kin,
/// operator new included). Counting works by defining these functions in the program, so
/// allocation_counter.cpp is linked only into programs that count, and not together with sanitizers, which do
/// the same.
std::int64_t allocations();

}  // namespace tandem

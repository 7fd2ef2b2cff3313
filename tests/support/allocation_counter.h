#pragma once

#include <cstdint>

namespace tandem {

/// How often any thread of this program has asked for memory so far: from the C library (malloc and its kin,
/// operator new included), or by operator new alone where a sanitizer defines malloc itself. Counting works
/// by defining these functions in the program, so allocation_counter.cpp is linked only into programs that
/// count.
std::int64_t allocations();

}  // namespace tandem

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem {

/// The contents of a file, inflated if it is gzip's (known by its first bytes, not by its name). Throws
/// DataError if the file is missing, not a regular file, unreadable, truncated or corrupt.
std::vector<std::uint8_t> read_maybe_gzip(const std::string& path);

}  // namespace tandem

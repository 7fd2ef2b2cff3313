#pragma once

#include <cstdint>
#include <string>

namespace tandem {

/// "512 B", "1.5 KiB", "25.0 MiB", … (binary units).
std::string human_bytes(double bytes);
/// "873", "12.3 K", "124.4 M", "1.56 B" (decimal units).
std::string human_count(double n);
/// "0.42 s", "12 s", "3 min 20 s", "2 h 05 min".
std::string human_duration(double seconds);

}  // namespace tandem

#pragma once

#include <string>

namespace tandem::bench {

/// The word for a scaling efficiency on one node (docs/measuring.md): "excellent" from 95%, "healthy" from
/// 85%, "acceptable" from 80%, "investigate" from 70%, "broken" below.
std::string band(double efficiency);

}  // namespace tandem::bench

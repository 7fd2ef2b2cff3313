#pragma once

#include <string>
#include <vector>

#include "core/telemetry/run_reader.h"

namespace tandem::bench {

/// Which differences between two runs are the subject of the comparison, and so allowed.
enum class Comparison {
  launches,  ///< none: launches of one configuration
  scaling,   ///< the number of ranks, and the batch as the regime wants it
  plain,     ///< as scaling, and everything about buckets, which a run without DDP has not
};

/// What differs between two runs and should not, as readable pieces ("dtype fp32 / bf16"); empty: they
/// compare.
std::vector<std::string> unfair_differences(const Run& a, const Run& b, Comparison comparison);

/// Throws DataError with all differences and the two folders unless the runs compare.
void require_comparable(const Run& a, const Run& b, Comparison comparison);

}  // namespace tandem::bench

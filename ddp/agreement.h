#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/comm/communicator.h"

namespace tandem {

/// One item of a list that should be the same on every rank.
struct Fingerprint {
  std::uint64_t hash = 0;
  std::string text;  ///< what a person is told about it; cut after 511 bytes
};

/// The first item that is not.
struct Disagreement {
  std::int64_t index = 0;
  std::vector<int> ranks;  ///< those that differ from rank 0
  std::string expected,
      found;  ///< the text on rank 0 and on the first of `ranks`; "nothing" past a list's end

  /// "ranks 1, 3"
  std::string rank_list() const;
};

/// Compares the lists of all ranks; the lengths may differ. Collective, blocks the host, and returns the same
/// on every rank. Where all agree, which is the rule, one all-reduce of 16 bytes says so.
std::optional<Disagreement> find_disagreement(Context& context, Communicator& communicator,
                                              std::span<const Fingerprint> items);

}  // namespace tandem

#pragma once

#include <cstdint>
#include <vector>

#include "core/nn/parameter_store.h"
#include "core/ops/update.h"

namespace tandem {

/// One segment per parameter of the store's layout of which something lies in `part`, sorted by offset, which
/// is counted from the start of `part`. `weight_decay` is taken by the parameters that decay. Throws
/// UsageError for a parameter whose lr_scale is negative or not finite.
std::vector<ops::Segment> segments_by_offset(const ParameterStore& store, double weight_decay,
                                             const LayoutRange& part);

/// One segment per non-empty parameter, without decay, in the order in which the parameters are defined.
std::vector<ops::Segment> segments_in_definition_order(const ParameterStore& store);

/// The chunks of a table (sorted by offset) that lie in `slice`. Throws ContractError if one lies only partly
/// there. Allocates nothing.
ops::ChunkRange chunks_within(const ops::SegmentTable& sorted, const LayoutRange& slice);

}  // namespace tandem

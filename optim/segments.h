#pragma once

#include <cstdint>
#include <vector>

#include "core/nn/parameter_store.h"
#include "core/ops/update.h"

namespace tandem {

/// One segment per non-empty parameter of the store's layout, sorted by offset, so that a slice of flat
/// memory is a span of them. `weight_decay` is taken by the parameters that decay. Throws UsageError for a
/// parameter whose lr_scale is negative or not finite.
std::vector<ops::Segment> segments_by_offset(const ParameterStore& store, double weight_decay);

/// The same without decay, in the order in which the parameters are defined.
std::vector<ops::Segment> segments_in_definition_order(const ParameterStore& store);

/// The chunks of a table (sorted by offset) that lie in elements [offset, offset + numel). Throws
/// ContractError if one lies only partly there. Allocates nothing.
ops::ChunkRange chunks_within(const ops::SegmentTable& sorted, std::int64_t offset, std::int64_t numel);

}  // namespace tandem

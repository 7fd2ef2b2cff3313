#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/nn/parameter.h"
#include "core/nn/parameter_layout.h"

namespace tandem {

/// The order in which parameters are put into buckets. ready: as backward makes gradients final; reverse:
/// from the last defined to the first (PyTorch's guess at it); forward: as defined (a bad order, to see what
/// it costs).
enum class BucketOrder { ready, reverse, forward };

struct BucketOptions {
  double cap_mb = 25;       ///< MiB per bucket; fractions allowed
  double first_cap_mb = 1;  ///< MiB of the first bucket to be launched (never above cap_mb), so that
                            ///< communication starts early
  BucketOrder order = BucketOrder::ready;
  std::optional<DType> grad_dtype = {};  ///< of the gradients, if not that of the parameters
};

/// One bucket as planned: parameters that lie one after the other in flat memory and are reduced by one
/// collective.
struct BucketSpec {
  std::vector<Parameter*> parameters;  ///< in launch order
  std::int64_t offset = 0;             ///< in elements, in the layout
  std::int64_t numel = 0;              ///< padding included; 0 if all its parameters have size zero
  std::int64_t payload_bytes = 0;      ///< the parameters' own bytes
  std::int64_t bytes(DType dtype) const { return numel * static_cast<std::int64_t>(size_of(dtype)); }
};

/// A pure function of its arguments: which parameter goes into which bucket, and where in memory.
///
/// Parameters keep their order; a bucket is closed when the next one would make it larger than its cap. What
/// counts is all that the collective moves, padding included. A bucket never exceeds its cap unless a single
/// parameter does; that one gets a bucket of its own. Offsets are aligned for vector access and buckets
/// padded to a multiple of world · 128 bytes, so that each rank's share is aligned; padding is zero. Frozen
/// parameters are left out; a parameter of size zero lies in a bucket and counts like any other.
struct BucketPlan {
  std::vector<BucketSpec> buckets;  ///< in launch order
  ParameterLayout layout;
  DType grad_dtype = DType::f32;  ///< what is reduced

  /// What one of so many ranks owns of each bucket under ZeRO-1: block `rank` of as many equal ones. Cuts
  /// parameters in two, but at multiples of ParameterLayout::kAlignment.
  std::vector<LayoutRange> shares(int rank, int ranks) const;

  /// `defined`: in definition order. `ready`: in the order in which backward makes gradients final (see
  /// trace_ready_order), used for BucketOrder::ready; parameters that are not in it come last, as defined.
  /// Throws UsageError for a cap that is not above 0 or is absurd, ContractError for a parameter listed twice
  /// or only in `ready`.
  static BucketPlan make(const ParameterList& defined, const ParameterList& ready,
                         const BucketOptions& options, int world_size);
};

}  // namespace tandem

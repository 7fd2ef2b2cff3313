#pragma once

#include <cstdint>

#include "core/comm/communicator.h"
#include "core/nn/parameter_store.h"
#include "ddp/bucket_plan.h"

namespace tandem {

/// Makes every rank's parameters those of rank 0. Collective, before the first step; blocks the host.
///
/// First it makes sure that all ranks have the same parameters: names, shapes, dtypes, launch order, places
/// in the buckets, frozen or not. Otherwise every rank throws the same UsageError, naming the first parameter
/// that differs, what it is on either side, and the ranks.
void replicate(Context& context, Communicator& communicator, const BucketPlan& plan, ParameterStore& store);

/// A hash of all parameters (names, dtypes, shapes and bits of the values, frozen ones included) in
/// definition order. Padding and layout do not enter, so runs with different buckets can be compared. Blocks
/// the host until the compute stream is done.
std::uint64_t parameters_hash(Context& context, const ParameterStore& store);

/// Throws the same CommError on every rank if parameters are not bitwise the same on all, naming the first
/// that is not, and the ranks that differ from rank 0. Collective, blocks the host.
void check_replicas(Context& context, Communicator& communicator, const ParameterStore& store);

}  // namespace tandem

#pragma once

#include <vector>

#include "core/comm/comm_observer.h"
#include "core/comm/communicator.h"
#include "ddp/bucket_plan.h"
#include "optim/clip.h"

namespace tandem {

/// Bytes of ShardedNorm's two collectives, counted as CommHook::wire_bytes().
struct NormBytes {
  std::int64_t heads = 0, sums = 0;
};
NormBytes sharded_norm_bytes(const BucketPlan& plan, int ranks);
/// Bytes of memory that it takes beside GradientNorm's.
std::int64_t sharded_norm_memory(const BucketPlan& plan, int ranks);

/// The gradients' norm where each rank has the sums of its own share of every bucket alone (ZeRO-1): bit for
/// bit what GradientNorm makes of whole sums.
///
/// The norm is a sum over chunks of parameters, and shares begin anywhere in one. A chunk belongs to the rank
/// on whose share it begins; the rest of it (the head of the next share, at most a chunk long) is brought
/// there by one all-gather of all heads. Then each rank sums its own chunks, one all-reduce of the chunks'
/// sums (each nonzero on one rank alone, so this adds nothing but zeros) gives every rank all of them, and
/// all add them in the same order.
class ShardedNorm final : public GradientNorm {
 public:
  /// `observer` hears of the two collectives as of buckets `2 · buckets` and `2 · buckets + 1`.
  ShardedNorm(Context& context, Communicator& communicator, const BucketPlan& plan,
              const ParameterStore& store, CommObserver* observer = nullptr);

  /// After all buckets have been waited for. Writes what it was lacking into the gradients beside the own
  /// shares. The compute stream waits for two small collectives.
  void compute() override;

 private:
  struct Copy {
    Tensor from, to;
  };

  void find_seams(const BucketPlan& plan, const ParameterStore& store);
  template <class Collective>
  void communicate(int id, Collective&& collective);

  Communicator* communicator_;
  CommObserver* observer_;
  int first_id_;  // to the observer
  Arena memory_;
  Tensor heads_;           // [ranks, …]: the heads of each rank's shares
  std::vector<Copy> out_;  // own heads into own block of `heads_`
  std::vector<Copy> in_;   // the rest of own chunks from the blocks of other ranks
  Event ready_, done_;
};

}  // namespace tandem

#pragma once

#include <optional>

#include "ddp/parameter_gather.h"
#include "ddp/sharded_norm.h"
#include "examples/train/replica.h"

namespace tandem::train {

/// Whether the gradients' norm is that of shares: where a step needs one, to clip or to judge a loss scale.
inline bool shards_norm(const Options& o) {
  return o.zero > 0 && (o.clip > 0 || o.precision == "fp16");
}

/// What --zero 1 adds to a step. Without it there is nothing to gather, and the norm is the replica's.
class Sharding {
 public:
  Sharding(Context& context, Communicator& communicator, const Setup& setup, Replica& replica,
           CommObserver& observer)
      : norm_(replica.gradient_norm) {
    const Options& o = setup.options;
    if (o.zero == 0) return;
    const bool overlap = o.overlap && !setup.captured(context);  // a graph ends with its step
    gather_.emplace(context, communicator, replica.plan, replica.store, overlap, &observer);
    if (shards_norm(o)) sharded_norm_.emplace(context, communicator, replica.plan, replica.store, &observer);
  }

  GradientNorm& norm() { return sharded_norm_ ? *sharded_norm_ : norm_; }
  /// The update is on the compute stream: other ranks' new values may come.
  void gather() {
    if (gather_) gather_->start();
  }
  /// After the last step: all values and masters are there.
  void finish() {
    if (gather_) gather_->gather_masters();
  }

 private:
  GradientNorm& norm_;
  std::optional<ParameterGather> gather_;
  std::optional<ShardedNorm> sharded_norm_;
};

}  // namespace tandem::train

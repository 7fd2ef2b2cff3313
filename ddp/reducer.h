#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/comm/comm_observer.h"
#include "core/comm/comm_scope.h"
#include "core/comm/communicator.h"
#include "core/nn/parameter_store.h"
#include "core/tensor/arena.h"
#include "ddp/bucket_plan.h"
#include "ddp/comm_hook.h"

namespace tandem {

struct ReducerOptions {
  bool overlap = true;  ///< launch a bucket as soon as it and all before it are full; else after backward
  bool gradient_as_bucket_view = true;  ///< gradients are slices of buckets; else they are copied in and out
  bool communicate = true;              ///< false: a baseline for measuring; replicas diverge
  CommHook* hook = nullptr;             ///< what is done to a full bucket; null: an all-reduce
};

/// A bucket at work.
struct Bucket {
  int index = 0;
  const BucketSpec* spec = nullptr;
  Tensor grads;  ///< [numel] what backward writes and the optimizer reads: a slice of the store's gradients
  BucketGradients reduced;  ///< what the hook works on: `grads` itself, or without views a second buffer
  int pending = 0;          ///< uses still missing in this backward
  bool in_flight = false;   ///< launched, and nobody has waited for it yet
  Event ready, done;
};

/// Counts gradients as they become final and reduces full buckets on the comm stream while backward goes on,
/// by a hook (CommHook), which is an all-reduce where none is given.
///
/// One optimizer step:  store.start_accumulation();  K × { start_backward(sync); forward; backward(…,
/// reducer) };  finish();  then wait(bucket) before each bucket's update. Micro-batches before the last run
/// with `sync` false (no_sync): they communicate nothing. Gradients are summed; the loss seed has done the
/// dividing.
///
/// Buckets are launched in index order, on all ranks the same: a bucket leaves when it and all before it are
/// full. So overlap, views and caps change when sums are made, never which.
///
/// Without views a bucket is copied into `reduced` when it is launched and back after its wait, both on the
/// compute stream: the copies cost backward and optimizer time, as they would in any framework. Without
/// communication nothing happens on the comm stream and the observer hears of bucket_ready alone. A group of
/// one rank goes the whole way, with collectives that do nothing.
///
/// A step allocates nothing. Context, communicator, plan, store, hook and observer must outlive the reducer,
/// which waits at its end until the comm stream is done.
class Reducer final : public GradientSink {
 public:
  /// Throws ContractError if the store's layout is not the plan's.
  Reducer(Context& context, Communicator& communicator, const BucketPlan& plan, const ParameterStore& store,
          ReducerOptions options, CommObserver* observer = nullptr);
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  /// Before each micro-batch's backward. With `sync` false gradients only accumulate (DDP's no_sync). Where
  /// the micro-batch before was reduced too (synchronising at every one), its sum lives on in rank 0's
  /// gradients alone, so that the next reduction counts it once.
  void start_backward(bool sync);

  /// Called by backward. Throws ContractError for a parameter that is not in the plan, or whose gradient
  /// becomes ready more often than its `uses`. Frozen parameters are passed over.
  void ready(Parameter& parameter) override;

  /// After a synchronising backward: launches, in order, what has not been launched. Throws ContractError
  /// naming the parameters whose gradient no backward of this step has touched.
  void finish();

  /// Makes the compute stream wait for the bucket's reduction; its `grads` are then the sum over all ranks.
  /// Throws what the collective threw, and ContractError before the bucket was launched. A second call is
  /// free.
  void wait(const Bucket& bucket);

  std::span<const Bucket> buckets() const { return buckets_; }

 private:
  struct Slot {
    Parameter* parameter;
    int bucket;
    int seen = 0;  // ready calls in this backward
  };

  void add_bucket(const BucketSpec& spec, const ParameterStore& store);
  void plan_memory(Arena& arena);
  void keep_sum_on_first_rank();
  void require_all_touched() const;
  void launch_full_buckets();
  void launch(Bucket& bucket);

  Context* context_;
  Communicator* communicator_;
  CommObserver* observer_;
  ReducerOptions options_;
  const BucketPlan* plan_;
  std::unique_ptr<CommHook> default_hook_;
  CommHook* hook_;
  Arena memory_;  // of the second buffers and of the hook
  std::vector<Bucket> buckets_;
  std::vector<Slot> slots_;
  std::unordered_map<const Parameter*, std::size_t> slot_of_;
  std::size_t launched_ = 0;  // buckets launched in this backward
  bool sync_ = false;
  CommScope scope_;  // last: the comm stream lets go of the buckets before they go
};

}  // namespace tandem

#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/comm/comm_observer.h"
#include "core/comm/communicator.h"
#include "core/nn/parameter_store.h"
#include "ddp/bucket_plan.h"

namespace tandem {

struct ReducerOptions {
  bool overlap = true;  ///< launch a bucket as soon as it and all before it are full; else after backward
  bool gradient_as_bucket_view = true;  ///< gradients are slices of buckets; else they are copied in and out
  bool communicate = true;              ///< false: a baseline for measuring; replicas diverge
};

/// A bucket at work.
struct Bucket {
  int index = 0;
  const BucketSpec* spec = nullptr;
  Tensor
      grads;  ///< [numel] where the optimizer reads the reduced gradients: the slice of the store's gradients
  Tensor reduced;   ///< [numel] what the collective works on: `grads` itself, or a buffer of its own without
                    ///< views
  int pending = 0;  ///< uses still missing in this backward
  Event ready, done;
};

/// Counts gradients as they become final and reduces full buckets on the comm stream while backward goes on.
///
/// One optimizer step:  start_step();  K × { forward; backward(…, reducer) };  finish();  then wait(bucket)
/// before each update. Micro-batches before the last run under no_sync: pass `sync = false` to
/// start_backward(). Buckets are launched in index order, on all ranks the same. Gradients are summed; the
/// loss seed has done the dividing.
class Reducer final : public GradientSink {
 public:
  Reducer(Context& context, Communicator& communicator, const BucketPlan& plan, ParameterStore& store,
          ReducerOptions options, CommObserver* observer = nullptr);

  /// Before each micro-batch's backward. With `sync` false gradients only accumulate (DDP's no_sync).
  void start_backward(bool sync);
  void ready(Parameter& parameter) override;
  /// After the last backward of a step: launches, in order, what has not been launched. Throws ContractError
  /// naming the parameters whose gradient no backward has touched.
  void finish();
  /// Makes the compute stream wait for the bucket's reduction; its `grads` are then the sum over all ranks.
  void wait(const Bucket& bucket);

  std::span<const Bucket> buckets() const { return buckets_; }

 private:
  std::vector<Bucket> buckets_;
};

/// The order in which `module.backward` makes gradients final. Explicit backward has one fixed order, known
/// before any training: it is found by one backward pass on the CPU or device with zeros, whose ready calls
/// are noted.
class ReadyOrder final : public GradientSink {
 public:
  void ready(Parameter& parameter) override;
  /// In the order of each parameter's `uses`-th call.
  const ParameterList& order() const { return order_; }

 private:
  std::unordered_map<const Parameter*, int> seen_;
  ParameterList order_;
};

}  // namespace tandem

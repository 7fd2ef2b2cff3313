#pragma once

#include <memory>
#include <vector>

#include "core/comm/communicator.h"
#include "ddp/ready_order.h"
#include "ddp/reducer.h"
#include "tests/support/toy_module.h"

namespace tandem::testing {

/// What one rank needs to train a toy module: the module, its memory in buckets, a reducer.
struct ToyRank {
  ToyRank(Context& context_, Communicator& communicator, const std::vector<std::int64_t>& sizes,
          const std::vector<int>& script, const BucketOptions& caps, ReducerOptions options,
          CommObserver* observer = nullptr)
      : context(context_),
        module(sizes, script),
        plan(BucketPlan::make(module.parameters(), trace_ready_order(context, module, {DType::f32, {1}}),
                              caps, communicator.size())),
        store(ParameterStore::allocate(context, plan.layout, module.parameters())),
        reducer(context, communicator, plan, store, options, observer) {
    module.bias = communicator.rank();
  }

  void backward(bool sync) {
    reducer.start_backward(sync);
    module.backward(context, {}, reducer);
  }
  void wait_all() {
    for (const Bucket& bucket : reducer.buckets()) reducer.wait(bucket);
  }
  /// One optimizer step of `micro_batches` without the update.
  void step(int micro_batches = 1) {
    store.start_accumulation();
    for (int k = 0; k < micro_batches; ++k) backward(/*sync=*/k + 1 == micro_batches);
    reducer.finish();
    wait_all();
  }

  Context& context;
  ToyModule module;
  BucketPlan plan;
  ParameterStore store;
  Reducer reducer;
};

/// The gradients of all parameters, in definition order.
inline std::vector<float> gradients(ToyModule& module) {
  std::vector<float> all;
  for (const Parameter* p : module.parameters())
    if (!p->frozen) all.insert(all.end(), p->grad.as<float>(), p->grad.as<float>() + p->numel());
  return all;
}

}  // namespace tandem::testing

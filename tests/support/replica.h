#pragma once

#include <deque>

#include "core/nn/parameter_store.h"
#include "ddp/bucket_plan.h"

namespace tandem::testing {

/// Three parameters and a frozen one, in memory, with values from `seed`.
struct Replica {
  Replica(Context& context, int world_size, std::uint64_t seed, const BucketOptions& options = {},
          std::int64_t third_size = 33, bool last_frozen = true)
      : parameters(make(third_size, last_frozen)),
        plan(BucketPlan::make(list(), {}, options, world_size)),
        store(ParameterStore::allocate(context, plan.layout, list())) {
    store.initialize(context, seed);
  }

  static std::deque<Parameter> make(std::int64_t third_size, bool last_frozen) {
    std::deque<Parameter> made;
    made.emplace_back("first.weight", Shape{40, 30}, Init::normal(1), true);
    made.emplace_back("first.bias", Shape{40}, Init::normal(1), false);
    made.emplace_back("second.weight", Shape{third_size, 7}, Init::normal(1), true);
    made.emplace_back("last", Shape{11}, Init::normal(1), true).frozen = last_frozen;
    return made;
  }
  ParameterList list() {
    ParameterList all;
    for (Parameter& p : parameters) all.push_back(&p);
    return all;
  }

  std::deque<Parameter> parameters;
  BucketPlan plan;
  ParameterStore store;
};

}  // namespace tandem::testing

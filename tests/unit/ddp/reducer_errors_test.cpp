#include <gtest/gtest.h>

#include "core/comm/world.h"
#include "tests/support/toy_rank.h"
#include "tests/unit/ddp/fake_communicator.h"

namespace tandem {
namespace {

using testing::FakeCommunicator;
using testing::ToyModule;
using testing::ToyRank;

/// The message of the ContractError that `f` must throw.
template <class F>
std::string contract_error(F&& f) {
  try {
    f();
  } catch (const ContractError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no ContractError";
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct ReducerErrors : ::testing::Test {
  Context context = Context::cpu();
  FakeCommunicator communicator;
};

TEST_F(ReducerErrors, UntouchedParametersAreNamed) {
  ToyRank rank(context, communicator, {10, 20, 30}, {1}, {}, {});
  rank.store.start_accumulation();
  rank.backward(true);
  const auto message = contract_error([&] { rank.reducer.finish(); });
  EXPECT_TRUE(contains(message, "'p0'") && contains(message, "'p2'")) << message;
  EXPECT_FALSE(contains(message, "'p1'")) << message;
}

TEST_F(ReducerErrors, GradientReadyTooOftenIsNamed) {
  for (bool sync : {true, false}) {
    ToyRank rank(context, communicator, {10, 20}, {1, 0}, {}, {});
    rank.store.start_accumulation();
    rank.backward(sync);
    const auto message = contract_error([&] { rank.reducer.ready(rank.module.parameter(1)); });
    EXPECT_TRUE(contains(message, "'p1'") && contains(message, "2 times")) << message;
  }
}

TEST_F(ReducerErrors, StrangersAreNamed) {
  ToyRank rank(context, communicator, {10}, {0}, {}, {});
  Parameter stranger("stranger", Shape{3}, Init::zeros(), true);
  EXPECT_TRUE(contains(contract_error([&] { rank.reducer.ready(stranger); }), "'stranger'"));
}

TEST_F(ReducerErrors, CallsOutOfTurnAreRefused) {
  ToyRank rank(context, communicator, {10}, {0}, {}, {.overlap = false});
  const Bucket& bucket = rank.reducer.buckets()[0];
  EXPECT_THROW(rank.reducer.wait(bucket), ContractError);
  EXPECT_THROW(rank.reducer.finish(), ContractError);
  rank.store.start_accumulation();
  rank.backward(/*sync=*/false);
  EXPECT_THROW(rank.reducer.finish(), ContractError);
  rank.backward(/*sync=*/true);
  EXPECT_THROW(rank.reducer.wait(bucket), ContractError);
  rank.reducer.finish();
  EXPECT_NO_THROW(rank.reducer.wait(bucket));
  EXPECT_NO_THROW(rank.reducer.wait(bucket));
}

TEST_F(ReducerErrors, MemoryLaidOutOtherwiseIsRefused) {
  ToyModule module({10, 20}, {1, 0});
  const auto all = module.parameters();
  const auto plan = BucketPlan::make(all, {all[1], all[0]}, {}, 1);
  const auto store = ParameterStore::allocate(context, ParameterLayout::in_order(all), all);
  EXPECT_THROW(Reducer(context, communicator, plan, store, {}), ContractError);
}

TEST_F(ReducerErrors, WhatACollectiveThrowsSurfacesInWait) {
  FakeCommunicator failing([](int call) {
    if (call == 2) throw CommError("the link is down");
  });
  const BucketOptions tiny{.cap_mb = 0.0001, .first_cap_mb = 0.0001};
  ToyRank rank(context, failing, {64, 64, 64}, {2, 1, 0}, tiny, {});
  rank.store.start_accumulation();
  rank.backward(true);
  rank.reducer.finish();
  const auto buckets = rank.reducer.buckets();
  EXPECT_NO_THROW(rank.reducer.wait(buckets[0]));
  EXPECT_THROW(rank.reducer.wait(buckets[1]), CommError);
  EXPECT_THROW(rank.reducer.wait(buckets[1]), CommError) << "a failed bucket must not count as waited for";
  EXPECT_THROW(rank.reducer.wait(buckets[2]), CommError) << "nor may those behind it";
}

TEST(ReducerFailure, ARankThatThrowsInBackwardEndsTheOthers) {
  try {
    run_threads(3, [](World& world) {
      auto context = Context::cpu();
      ToyRank rank(context, world.comm(), {10, 20}, {1, 0}, {.cap_mb = 1e-4, .first_cap_mb = 1e-4}, {});
      rank.step();
      if (world.rank() == 1) throw DataError("sample 7 is broken");
      rank.step();
    });
    FAIL() << "nothing was thrown";
  } catch (const RankError& error) {
    EXPECT_TRUE(contains(error.what(), "sample 7 is broken")) << error.what();
    EXPECT_EQ(error.rank(), 1);
  }
}

}  // namespace
}  // namespace tandem

#include "ddp/ready_order.h"

#include <gtest/gtest.h>

#include "tests/support/toy_module.h"

namespace tandem {
namespace {

using testing::ToyModule;

TEST(ReadyOrder, IsThatOfEachParametersLastUse) {
  auto context = Context::cpu();
  ToyModule module({3, 0, 5, 7}, {0, 2, 3, 0, 1, 2});
  const auto all = module.parameters();
  EXPECT_EQ(trace_ready_order(context, module, {DType::f32, {1, 4}}),
            (ParameterList{all[3], all[0], all[1], all[2]}));
}

TEST(ReadyOrder, LeavesFrozenAndUnusedParametersOut) {
  auto context = Context::cpu();
  ToyModule module({3, 4, 5}, {2, 1});
  module.parameter(1).frozen = true;
  EXPECT_EQ(trace_ready_order(context, module, {DType::f32, {1}}), ParameterList{&module.parameter(2)});
}

TEST(ReadyOrder, LeavesTheModuleUnbound) {
  auto context = Context::cpu();
  ToyModule module({3, 4}, {1, 0});
  trace_ready_order(context, module, {DType::i32, {2, 2}});
  for (const Parameter* p : module.parameters()) {
    EXPECT_FALSE(p->value);
    EXPECT_FALSE(p->grad);
    EXPECT_FALSE(p->grad_written());
  }
}

TEST(ReadyOrder, RefusesMoreUsesThanDeclared) {
  ReadyOrder order;
  Parameter p("twice", Shape{1}, Init::zeros(), true);
  order.ready(p);
  EXPECT_THROW(order.ready(p), ContractError);
}

}  // namespace
}  // namespace tandem

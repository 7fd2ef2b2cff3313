#include <gtest/gtest.h>

#include "ddp/ready_order.h"
#include "models/presets.h"

namespace tandem {
namespace {

std::vector<std::string> order_on(Context context, const char* name, const ModelOverrides& overrides,
                                  const TensorSpec& input) {
  const auto model = make_model(model_config(name, overrides));
  std::vector<std::string> names;
  for (const Parameter* parameter : trace_ready_order(context, *model, input))
    names.push_back(parameter->name);
  return names;
}

TEST(ReadyOrderOnNoDevice, IsThatOfTheCpu) {
  ModelOverrides gpt, mlp;
  gpt.recompute = Recompute::block;
  EXPECT_EQ(order_on(Context::dry(), "gpt-nano", gpt, {DType::i32, {1, 1}}),
            order_on(Context::cpu(), "gpt-nano", gpt, {DType::i32, {1, 1}}));
  EXPECT_EQ(order_on(Context::dry(), "mlp", mlp, {DType::f32, {1, 784}}),
            order_on(Context::cpu(), "mlp", mlp, {DType::f32, {1, 784}}));
}

TEST(ReadyOrderOnNoDevice, TakesNoMemory) {
  ModelOverrides huge;
  huge.layers = 200;
  huge.width = 25600;
  huge.heads = 100;
  EXPECT_EQ(order_on(Context::dry(), "gpt2", huge, {DType::i32, {1, 1}}).size(), 200u * 12 + 4);
}

}  // namespace
}  // namespace tandem

#include "ddp/ready_order.h"

#include "core/nn/parameter_store.h"
#include "core/tensor/planned_memory.h"

namespace tandem {

void ReadyOrder::ready(Parameter& parameter) {
  if (parameter.frozen) return;
  const int seen = ++seen_[&parameter];
  require(seen <= parameter.uses, "the gradient of '{}' became ready {} times in one backward, not {}",
          parameter.name, seen, parameter.uses);
  if (seen == parameter.uses) order_.push_back(&parameter);
}

ParameterList trace_ready_order(Context& context, Module& module, const TensorSpec& input) {
  const ParameterList parameters = module.parameters();
  const auto store = ParameterStore::allocate(context, ParameterLayout::in_order(parameters), parameters);

  Tensor x, dy;
  const PlannedMemory memory(context, [&](MemoryPlan& plan) {
    x = plan.saved.allocate(input);
    dy = plan.saved.allocate(module.plan(plan, input));
  });

  ReadyOrder order;
  module.forward(context, x);
  module.backward(context, dy, order);
  context.compute().synchronize();

  for (Parameter* parameter : parameters) {
    parameter->value = parameter->grad = {};
    parameter->start_accumulation();
  }
  return order.order();
}

}  // namespace tandem

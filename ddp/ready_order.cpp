#include "ddp/ready_order.h"

#include "core/nn/parameter_store.h"

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

  Arena measured_saved, measured_scratch;
  MemoryPlan measured{context, measured_saved, measured_scratch};
  measured_saved.allocate(input);
  measured_saved.allocate(module.plan(measured, input));

  Arena saved(context, measured_saved.peak()), scratch(context, measured_scratch.peak());
  MemoryPlan memory{context, saved, scratch};
  const Tensor x = saved.allocate(input);
  const Tensor dy = saved.allocate(module.plan(memory, input));

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

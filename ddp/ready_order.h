#pragma once

#include <unordered_map>

#include "core/device/context.h"
#include "core/nn/module.h"
#include "core/nn/parameter.h"

namespace tandem {

/// Notes the order in which gradients become final: each parameter at its `uses`-th call. Frozen parameters
/// are passed over. Throws ContractError if a parameter calls more often than that.
class ReadyOrder final : public GradientSink {
 public:
  void ready(Parameter& parameter) override;
  const ParameterList& order() const { return order_; }

 private:
  std::unordered_map<const Parameter*, int> seen_;
  ParameterList order_;
};

/// The order in which `module.backward` makes gradients final. Explicit backward has one fixed order, so it
/// is found before any training: by one forward and backward pass over zeros of shape `input` (the smallest
/// that the module takes will do), in memory of its own that is given back.
///
/// Leaves every parameter unbound and the module to be planned anew.
ParameterList trace_ready_order(Context& context, Module& module, const TensorSpec& input);

}  // namespace tandem

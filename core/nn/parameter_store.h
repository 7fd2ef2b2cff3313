#pragma once

#include <cstdint>

#include "core/device/context.h"
#include "core/nn/parameter_layout.h"
#include "core/tensor/arena.h"

namespace tandem {

/// The memory of a model's parameters: one flat tensor of values and one of gradients. Gradients start as
/// zeros. It must not outlive the module; the module's parameters are views into it.
class ParameterStore {
 public:
  /// Reserves values and gradients and binds every parameter's views. Frozen parameters have values but no
  /// gradient and lie outside `layout` (in memory of their own); pass all parameters.
  /// Throws ContractError for a parameter that is missing, placed twice, or shares its name.
  static ParameterStore allocate(const Context& context, ParameterLayout layout, const ParameterList& all);

  /// Draws every value from (seed, parameter name).
  void initialize(std::uint64_t seed);

  const ParameterLayout& layout() const { return layout_; }
  const ParameterList& parameters() const { return all_; }  ///< in definition order, frozen ones included
  const Tensor& values() const { return values_; }          ///< [layout.numel()]
  const Tensor& grads() const { return grads_; }            ///< [layout.numel()]
  /// An optimizer step begins: the first write of every gradient assigns.
  void start_accumulation();

 private:
  ParameterStore(ParameterLayout layout, ParameterList all)
      : layout_(std::move(layout)), all_(std::move(all)) {}

  /// Takes everything from `arena` and points the parameters at it.
  void bind(Arena& arena);

  Arena memory_;
  ParameterLayout layout_;
  ParameterList all_;
  Tensor values_, grads_;
};

}  // namespace tandem

#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "core/device/context.h"
#include "core/nn/parameter_layout.h"
#include "core/tensor/arena.h"

namespace tandem {

/// The memory of a model's parameters: one flat tensor of values and one of gradients, and one of f32 masters
/// where the values are of a shorter type. Gradients start as zeros. It must not outlive the module; the
/// module's parameters are views into it.
class ParameterStore {
 public:
  /// Reserves values and gradients and binds every parameter's views. Frozen parameters have values but no
  /// gradient and lie outside `layout` (in memory of their own); pass all parameters.
  /// Throws ContractError for a parameter that is missing, placed twice, or shares its name.
  /// `grad_dtype`: of the gradients; by default that of the values.
  static ParameterStore allocate(const Context& context, ParameterLayout layout, const ParameterList& all,
                                 std::optional<DType> grad_dtype = {});

  /// Draws every value from (seed, parameter name). Blocks the host.
  void initialize(Context& context, std::uint64_t seed);
  /// Gives one parameter the values of `from` (host memory, numel() of f32, or f64 for an f64 parameter), its
  /// master copy too. Blocks the host.
  void set(Context& context, const Parameter& parameter, const Tensor& from);
  /// The other way: gives `to` (host memory, as above) the parameter's values in full precision, that is its
  /// master copy. Blocks the host until the compute stream is done.
  void get(Context& context, const Parameter& parameter, const Tensor& to) const;

  const ParameterLayout& layout() const { return layout_; }
  const ParameterList& parameters() const { return all_; }  ///< in definition order, frozen ones included
  const Tensor& values() const { return values_; }          ///< [layout.numel()]
  const Tensor& masters() const { return masters_; }  ///< [layout.numel()] f32, or the values themselves
  const Tensor& grads() const { return grads_; }      ///< [layout.numel()]
  /// An optimizer step begins: the first write of every gradient assigns.
  void start_accumulation();

 private:
  ParameterStore(ParameterLayout layout, ParameterList all, DType grad_dtype)
      : layout_(std::move(layout)), all_(std::move(all)), grad_dtype_(grad_dtype) {}

  /// Takes everything from `arena` and points the parameters at it.
  void bind(Arena& arena);
  Tensor master_of(const Parameter& parameter) const;

  Arena memory_;
  ParameterLayout layout_;
  ParameterList all_;
  DType grad_dtype_;
  Tensor values_, masters_, grads_;
  std::unordered_map<const Parameter*, Tensor> frozen_masters_;  // of frozen parameters of short types
};

}  // namespace tandem

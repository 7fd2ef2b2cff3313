#pragma once

#include <initializer_list>

#include "core/device/context.h"
#include "core/nn/parameter.h"
#include "core/tensor/arena.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// A differentiable function with parameters. Life of a module:
///
///  1. construction: sizes known, parameters named, no memory;
///  2. `parameters()`: given to ParameterStore (or to DDP's bucket plan), which binds values and gradients;
///  3. `plan(memory, input)`: reserves output, saved activations and input gradient for inputs of exactly
///  this shape;
///     called twice (measuring, then real), so it must not depend on what an earlier call left behind;
///  4. each step `forward`, then `backward` at most once.
///
/// Modules allocate nothing in a step and hold no batch data but views.
class Module {
 public:
  virtual ~Module() = default;

  /// All parameters, in definition order (forward order). The pointers stay valid as long as the module.
  virtual ParameterList parameters() = 0;

  /// Returns the shape and dtype of the output.
  virtual TensorSpec plan(MemoryPlan& memory, const TensorSpec& input) = 0;

  /// Returns the output, in planned memory. `x` must stay unchanged until backward is done. Takes its
  /// parameters' values by Parameter::read(), just before it needs them.
  virtual Tensor forward(Context& context, const Tensor& x) = 0;

  /// Given the gradient of the last forward's output (which it may overwrite), writes every parameter's
  /// gradient as Parameter::next_grad_write() says, calls sink.ready(parameter) right after each use's last
  /// write, and returns the gradient of the input, in planned memory (or an empty tensor where the input is
  /// not differentiable: token ids). The order of the ready calls must be the same in every step and on every
  /// rank.
  virtual Tensor backward(Context& context, const Tensor& dy, GradientSink& sink) = 0;

  /// False tells a module, before plan, that nobody needs its input's gradient (the first layer over data);
  /// it may then skip it and return an empty tensor from backward.
  void set_input_gradient(bool needed) { input_gradient_ = needed; }

 protected:
  bool input_gradient_ = true;
};

/// The parameters of several modules, one after the other: for a module that is made of others. `modules` is
/// a container of pointers, or a list: parameters_of({&first_, &second_}).
template <class Modules = std::initializer_list<Module*>>
ParameterList parameters_of(const Modules& modules) {
  ParameterList all;
  for (const auto& module : modules) {
    const ParameterList own = module->parameters();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace tandem

#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/nn/module.h"

namespace tandem {

/// Modules in a row: each takes in what the one before gives out.
class Sequential : public Module {
 public:
  /// Makes a module of type M at the end and returns it.
  template <class M, class... Args>
  M& add(Args&&... args) {
    auto module = std::make_unique<M>(std::forward<Args>(args)...);
    M& made = *module;
    modules_.push_back(std::move(module));
    return made;
  }

  ParameterList parameters() override { return parameters_of(modules_); }
  TensorSpec plan(MemoryPlan& memory, const TensorSpec& input) override;
  Tensor forward(Context& context, const Tensor& x) override;
  Tensor backward(Context& context, const Tensor& dy, GradientSink& sink) override;

 private:
  std::vector<std::unique_ptr<Module>> modules_;
};

}  // namespace tandem

#pragma once

#include <deque>

#include "core/nn/module.h"

namespace tandem::testing {

/// A module whose backward is a script: for each step of it, one contribution to one parameter's gradient, by
/// next_grad_write(), and a ready call. Contribution k to element i is (k + i) % 5 plus what `bias` is: small
/// integers, so that sums in float are exact in any order.
class ToyModule final : public Module {
 public:
  /// `script`: indices of parameters in the order in which backward writes them.
  ToyModule(const std::vector<std::int64_t>& sizes, std::vector<int> script) : script_(std::move(script)) {
    for (std::int64_t size : sizes) {
      Parameter& p =
          owned_.emplace_back(fmt::format("p{}", owned_.size()), Shape{size}, Init::normal(1), true);
      p.uses = 0;
    }
    for (int i : script_) ++owned_[i].uses;
    for (Parameter& p : owned_)
      if (p.uses == 0) p.uses = 1;
  }

  ParameterList parameters() override {
    ParameterList all;
    for (Parameter& p : owned_) all.push_back(&p);
    return all;
  }
  TensorSpec plan(MemoryPlan&, const TensorSpec& input) override { return input; }
  Tensor forward(Context&, const Tensor& x) override { return x; }
  Tensor backward(Context&, const Tensor& dy, GradientSink& sink) override {
    for (std::size_t k = 0; k < script_.size(); ++k) {
      Parameter& p = owned_[script_[k]];
      if (!p.frozen) write(p, k);
      sink.ready(p);
    }
    return dy;
  }

  Parameter& parameter(int i) { return owned_[i]; }
  int bias = 0;  ///< makes one rank's gradients differ from another's

 private:
  void write(Parameter& p, std::size_t k) {
    const bool assign = p.next_grad_write() == Write::assign;
    auto* grad = p.grad.as<float>();
    for (std::int64_t i = 0; i < p.numel(); ++i)
      grad[i] = (assign ? 0 : grad[i]) + static_cast<float>((static_cast<std::int64_t>(k) + i) % 5 + bias);
  }

  std::deque<Parameter> owned_;
  std::vector<int> script_;
};

}  // namespace tandem::testing

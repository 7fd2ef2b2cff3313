// A layer of one's own: what to implement, and how to know that its backward is right.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "core/nn/gradient_check.h"
#include "models/layers/linear.h"
#include "models/layers/sequential.h"

namespace {

using tandem::Context, tandem::Tensor;

// Swish with a learned slope per channel: y = x · σ(βx), x and y [.., width], β [width] (Ramachandran et al.
// 2017).
class Swish final : public tandem::Module {
 public:
  // A parameter has a name, a shape, a start, and whether weight decay takes it. It has no memory yet.
  Swish(const std::string& name, std::int64_t width)
      : slope_(name + ".slope", {width}, tandem::Init::ones(), /*decay=*/false) {}

  tandem::ParameterList parameters() override { return {&slope_}; }

  // All memory is reserved here, none in a step. `saved` lasts from forward to backward.
  tandem::TensorSpec plan(tandem::MemoryPlan& memory, const tandem::TensorSpec& input) override {
    tandem::require(input.shape.last() == slope_.numel(), "{} {} does not take {}", slope_.name,
                    slope_.shape.str(), input.shape.str());
    y_ = memory.saved.allocate(input);
    dx_ = memory.saved.allocate(input);
    return input;
  }

  // f32 trains, f64 checks gradients: a template serves both.
  Tensor forward(Context&, const Tensor& x) override {
    x_ = x;  // a view: the caller keeps x as it is until backward is done
    tandem::visit_floating(x.dtype(), [this](auto zero) { forward_in<decltype(zero)>(); });
    return y_;
  }

  Tensor backward(Context&, const Tensor& dy, tandem::GradientSink& sink) override {
    tandem::visit_floating(dy.dtype(), [&](auto zero) { backward_in<decltype(zero)>(dy); });
    if (!slope_.frozen) sink.ready(slope_);  // its last write is done: DDP may send it while backward goes on
    return dx_;
  }

 private:
  template <class T>
  static T sigmoid(T z) {
    return 1 / (1 + std::exp(-z));
  }

  template <class T>
  void forward_in() {
    const T *x = x_.as<T>(), *slope = slope_.read().as<T>();
    const std::int64_t width = slope_.numel();
    for (std::int64_t i = 0; i < x_.numel(); ++i) y_.as<T>()[i] = x[i] * sigmoid(slope[i % width] * x[i]);
  }

  // With s = σ(βx):  dx = dy · (s + βx·s·(1 − s)),  dβ (+)= Σ_rows dy · x²·s·(1 − s)
  template <class T>
  void backward_in(const Tensor& dy_tensor) {
    const T *x = x_.as<T>(), *dy = dy_tensor.as<T>(), *slope = slope_.value.as<T>();
    T* dslope = slope_.frozen ? nullptr : slope_.grad.as<T>();
    const std::int64_t width = slope_.numel();
    // The first micro-batch of an optimizer step assigns, later ones add.
    if (dslope && slope_.next_grad_write() == tandem::Write::assign) std::fill_n(dslope, width, T{0});
    for (std::int64_t i = 0; i < x_.numel(); ++i) {
      const T z = slope[i % width] * x[i], s = sigmoid(z);
      dx_.as<T>()[i] = dy[i] * (s + z * s * (1 - s));
      if (dslope) dslope[i % width] += dy[i] * x[i] * x[i] * s * (1 - s);
    }
  }

  tandem::Parameter slope_;  // [width]
  Tensor x_, y_, dx_;        // [.., width]
};

// Compares backward with finite differences, and checks the rules: assign, add, announce, leave alone if
// frozen.
bool check(const char* what, tandem::Module& module) {
  const tandem::GradientCheckResult result = tandem::check_gradients(module, /*input=*/{5, 7});
  fmt::print("{}: {}, largest error {:.1e} ({})\n", what, result.passed ? "passed" : "FAILED",
             result.worst_error, result.worst_place);
  return result.passed;
}

}  // namespace

int main() {
  Swish swish("swish", 7);
  tandem::Sequential model;  // the same layer among others
  model.add<tandem::Linear>("in", 7, 12);
  model.add<Swish>("swish", 12);
  model.add<tandem::Linear>("out", 12, 3);
  return check("Swish", swish) & check("Linear, Swish, Linear", model) ? 0 : 1;
}

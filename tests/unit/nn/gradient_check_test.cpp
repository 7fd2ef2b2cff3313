#include "core/nn/gradient_check.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

/// What a careless author may get wrong.
enum class Mistake {
  none,
  wrong_parameter_gradient,
  wrong_input_gradient,
  always_assigns,
  always_adds,
  announces_never,
  announces_twice,
  ignores_frozen,
  changes_its_input,
  returns_nothing,
  reads_past_the_gate,
};

/// y = gain · x³, written by hand, with a mistake to order.
class Cube final : public Module {
 public:
  explicit Cube(Mistake mistake) : mistake_(mistake) {}

  ParameterList parameters() override { return {&gain_}; }

  TensorSpec plan(MemoryPlan& memory, const TensorSpec& input) override {
    y_ = memory.saved.allocate(input);
    dx_ = memory.saved.allocate(input);
    return input;
  }

  Tensor forward(Context&, const Tensor& x) override {
    x_ = x;
    for (std::int64_t i = 0; i < x.numel(); ++i) y_.as<double>()[i] = gain() * cube(i);
    if (mistake_ != Mistake::reads_past_the_gate) gain_.read();
    return y_;
  }

  Tensor backward(Context&, const Tensor& dy, GradientSink& sink) override {
    if (!gain_.frozen || mistake_ == Mistake::ignores_frozen) write_gain_gradient(dy, sink);
    for (std::int64_t i = 0; i < dy.numel(); ++i) {
      const double x = x_.as<double>()[i], factor = mistake_ == Mistake::wrong_input_gradient ? 2 : 3;
      dx_.as<double>()[i] = dy.as<double>()[i] * gain() * factor * x * x;
    }
    if (mistake_ == Mistake::changes_its_input) x_.as<double>()[0] += 1;
    return mistake_ == Mistake::returns_nothing ? Tensor() : dx_;
  }

 private:
  void write_gain_gradient(const Tensor& dy, GradientSink& sink) {
    double sum = 0;
    for (std::int64_t i = 0; i < dy.numel(); ++i) sum += dy.as<double>()[i] * cube(i);
    if (mistake_ == Mistake::wrong_parameter_gradient) sum *= 1.0001;
    Write write = gain_.next_grad_write();
    if (mistake_ == Mistake::always_assigns) write = Write::assign;
    if (mistake_ == Mistake::always_adds) write = Write::add;
    double& grad = *gain_.grad.as<double>();
    grad = write == Write::assign ? sum : grad + sum;
    if (mistake_ != Mistake::announces_never) sink.ready(gain_);
    if (mistake_ == Mistake::announces_twice) sink.ready(gain_);
  }
  double gain() const { return *gain_.value.as<double>(); }
  double cube(std::int64_t i) const { return x_.as<double>()[i] * x_.as<double>()[i] * x_.as<double>()[i]; }

  Mistake mistake_;
  Parameter gain_{"gain", {1}, Init::ones(), /*decay=*/false};
  Tensor x_, y_, dx_;
};

GradientCheckResult check(Mistake mistake) {
  Cube module(mistake);
  return check_gradients(module, {3, 2});
}

TEST(CheckGradients, PassesACorrectModule) {
  const GradientCheckResult result = check(Mistake::none);
  EXPECT_TRUE(result.passed) << result.worst_place;
  EXPECT_LT(result.worst_error, 1e-6);
  EXPECT_FALSE(result.worst_place.empty());
}

class CheckGradientsFinds : public testing::TestWithParam<std::pair<Mistake, const char*>> {};

TEST_P(CheckGradientsFinds, TheMistakeAndNamesIt) {
  const GradientCheckResult result = check(GetParam().first);
  EXPECT_FALSE(result.passed);
  EXPECT_NE(result.worst_place.find(GetParam().second), std::string::npos) << result.worst_place;
}

INSTANTIATE_TEST_SUITE_P(
    EachMistake, CheckGradientsFinds,
    testing::Values(std::pair{Mistake::wrong_parameter_gradient, "gain[0]: "},
                    std::pair{Mistake::wrong_input_gradient, "input["},
                    std::pair{Mistake::always_assigns, "gain[0] after two backward passes"},
                    std::pair{Mistake::always_adds, "gain[0]: nan"},
                    std::pair{Mistake::announces_never, "gain was announced 0 times instead of 1"},
                    std::pair{Mistake::announces_twice, "gain was announced 2 times instead of 1"},
                    std::pair{Mistake::ignores_frozen, "gain was announced although frozen"},
                    std::pair{Mistake::changes_its_input, "the input was changed"},
                    std::pair{Mistake::reads_past_the_gate, "forward took gain without Parameter::read()"},
                    std::pair{Mistake::returns_nothing, "backward returned no gradient of the input"}));

TEST(CheckGradients, WantsANewModule) {
  Cube module(Mistake::none);
  check_gradients(module, {2});
  EXPECT_THROW(check_gradients(module, {2}), ContractError);
}

}  // namespace
}  // namespace tandem

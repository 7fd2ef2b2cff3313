#include "core/nn/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/philox.h"
#include "core/nn/parameter_store.h"
#include "core/tensor/planned_memory.h"

namespace tandem {

namespace {

class CountingSink final : public GradientSink {
 public:
  void ready(Parameter& parameter) override { ++calls_[&parameter]; }
  int calls(const Parameter& parameter) const {
    const auto found = calls_.find(&parameter);
    return found == calls_.end() ? 0 : found->second;
  }

 private:
  std::unordered_map<const Parameter*, int> calls_;
};

/// Notes which parameters' values forward asks for.
class ReadLog final : public ValueGate {
 public:
  explicit ReadLog(const ParameterList& parameters) : parameters_(parameters) {
    for (Parameter* p : parameters_) p->gate = this;
  }
  ReadLog(const ReadLog&) = delete;
  ReadLog& operator=(const ReadLog&) = delete;
  ~ReadLog() override {
    for (Parameter* p : parameters_) p->gate = nullptr;
  }
  void await(const Parameter& parameter) override { read_.insert(&parameter); }
  bool read(const Parameter& parameter) const { return read_.contains(&parameter); }

 private:
  const ParameterList& parameters_;
  std::unordered_set<const Parameter*> read_;
};

/// One check of one module. Philox streams: 0 input, 1 parameters, 2 projection, 3 choice of probes.
class Checker {
 public:
  Checker(Module& module, const Shape& input, const GradientCheckOptions& options)
      : module_(module), options_(options), parameters_(module.parameters()), context_(Context::cpu()) {
    make_input(input);
    make_parameters();
    plan();
  }

  GradientCheckResult run() {
    check_first_backward();
    for (Parameter* p : parameters_)
      if (!p->frozen) compare(p->name, p->value, snapshot_.at(p));
    if (options_.vocabulary == 0) compare("input", x_, input_gradient_);
    check_second_backward_adds();
    for (Parameter* p : parameters_)
      if (!p->frozen) check_frozen(*p);
    result_.passed = result_.worst_error <= options_.tolerance;
    return result_;
  }

 private:
  void make_input(const Shape& shape) {
    Philox random(options_.seed, 0);
    if (options_.vocabulary > 0) {
      for (std::int64_t i = 0; i < shape.numel(); ++i)
        ids_.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(options_.vocabulary)));
      x_ = Tensor::of(ids_.data(), shape);
    } else {
      for (std::int64_t i = 0; i < shape.numel(); ++i) input_.push_back(random.normal());
      x_ = Tensor::of(input_.data(), shape);
    }
  }

  /// Random values instead of the module's own, because a gradient may be right only where a bias is 0 or a
  /// gain is 1.
  void make_parameters() {
    for (Parameter* p : parameters_) {
      require(!p->value, "check_gradients wants a new module, but {} has a value", p->name);
      p->dtype = DType::f64;
    }
    store_ = ParameterStore::allocate(context_, ParameterLayout::in_order(parameters_), parameters_);
    Philox random(options_.seed, 1);
    for (Parameter* p : parameters_) {
      const double centre = p->init.kind == Init::Kind::ones ? 1.0 : 0.0;
      for (std::int64_t i = 0; i < p->numel(); ++i) p->value.as<double>()[i] = centre + 0.4 * random.normal();
    }
  }

  void plan() {
    TensorSpec output;
    memory_.emplace(context_, [&](MemoryPlan& memory) { output = module_.plan(memory, x_.spec()); });
    Philox random(options_.seed, 2);
    for (std::int64_t i = 0; i < output.shape.numel(); ++i) projection_.push_back(random.normal());
  }

  /// The loss: Σ projection · output.
  double loss() {
    const Tensor y = module_.forward(context_, x_);
    return std::inner_product(projection_.begin(), projection_.end(), y.as<double>(), 0.0);
  }

  /// Forward and backward. Returns the input's gradient.
  Tensor pass(GradientSink& sink) {
    const Tensor y = module_.forward(context_, x_);
    dy_ = projection_;  // a copy: backward may overwrite it, even with what it returns
    return module_.backward(context_, Tensor::of(dy_.data(), y.shape()), sink);
  }

  void check_first_backward() {
    const std::vector<double> input = input_;
    for (Parameter* p : parameters_)  // NaN survives whatever does not assign
      if (!p->frozen) std::fill_n(p->grad.as<double>(), p->numel(), std::numeric_limits<double>::quiet_NaN());
    store_->start_accumulation();
    CountingSink sink;
    const ReadLog reads(parameters_);
    const Tensor dx = pass(sink);
    for (Parameter* p : parameters_) {
      if (!reads.read(*p)) fail(fmt::format("forward took {} without Parameter::read()", p->name));
      const int expected = p->frozen ? 0 : p->uses;
      if (sink.calls(*p) != expected)
        fail(fmt::format("{} was announced {} times instead of {}", p->name, sink.calls(*p), expected));
      if (!p->frozen) snapshot_[p] = copy_of(p->grad);
    }
    if (input != input_) fail("the input was changed");
    if (options_.vocabulary > 0) return;
    if (dx.numel() != x_.numel() || !dx) fail("backward returned no gradient of the input");
    input_gradient_ = dx ? copy_of(dx) : std::vector<double>(input_.size(), 0.0);
  }

  /// Central differences for (at most max_probes) elements of `tensor`.
  void compare(const std::string& name, const Tensor& tensor, const std::vector<double>& analytic) {
    Philox random(options_.seed, 3);
    const std::int64_t probes = std::min(tensor.numel(), options_.max_probes);
    for (std::int64_t probe = 0; probe < probes; ++probe) {
      const bool all = probes == tensor.numel();
      const auto i = all ? probe : static_cast<std::int64_t>(random.uniform() * double(tensor.numel()));
      double& element = tensor.as<double>()[i];
      const double value = element;
      element = value + options_.step;
      const double above = loss();
      element = value - options_.step;
      const double below = loss();
      element = value;
      note(fmt::format("{}[{}]", name, i), analytic[static_cast<std::size_t>(i)],
           (above - below) / (2 * options_.step));
    }
  }

  void check_second_backward_adds() {
    CountingSink sink;
    pass(sink);  // without start_accumulation()
    for (Parameter* p : parameters_) {
      if (p->frozen) continue;
      const std::vector<double>& once = snapshot_.at(p);
      for (std::size_t i = 0; i < once.size(); ++i)
        note(fmt::format("{}[{}] after two backward passes", p->name, i), p->grad.as<double>()[i],
             2 * once[i]);
    }
  }

  /// With `parameter` frozen its gradient must stay as it is, and all others come out as before.
  void check_frozen(Parameter& parameter) {
    constexpr double kUntouched = 12345;
    std::fill_n(parameter.grad.as<double>(), parameter.numel(), kUntouched);
    parameter.frozen = true;
    store_->start_accumulation();
    CountingSink sink;
    pass(sink);
    parameter.frozen = false;
    if (sink.calls(parameter) != 0) fail(fmt::format("{} was announced although frozen", parameter.name));
    for (const auto& [p, before] : snapshot_)
      for (std::size_t i = 0; i < before.size(); ++i)
        note(fmt::format("{}[{}] with {} frozen", p->name, i, parameter.name), p->grad.as<double>()[i],
             p == &parameter ? kUntouched : before[i]);
  }

  static std::vector<double> copy_of(const Tensor& tensor) {
    const double* data = tensor.as<double>();
    return {data, data + tensor.numel()};
  }

  void note(const std::string& place, double actual, double expected) {
    double error = std::abs(actual - expected) / std::max({1.0, std::abs(actual), std::abs(expected)});
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    if (error <= result_.worst_error && !result_.worst_place.empty()) return;
    result_.worst_error = error;
    result_.worst_place = fmt::format("{}: {:.9g} instead of {:.9g}", place, actual, expected);
  }

  /// A broken rule outweighs any number; the first one is reported.
  void fail(const std::string& what) {
    if (result_.worst_error == std::numeric_limits<double>::infinity()) return;
    result_.worst_error = std::numeric_limits<double>::infinity();
    result_.worst_place = what;
  }

  Module& module_;
  const GradientCheckOptions options_;
  const ParameterList parameters_;
  Context context_;
  std::optional<ParameterStore> store_;  // made after the parameters' dtype is set
  std::optional<PlannedMemory> memory_;
  std::vector<double> input_, projection_, dy_, input_gradient_;
  std::vector<std::int32_t> ids_;
  Tensor x_;
  std::unordered_map<const Parameter*, std::vector<double>> snapshot_;  // gradients of the first backward
  GradientCheckResult result_;
};

}  // namespace

GradientCheckResult check_gradients(Module& module, const Shape& input, const GradientCheckOptions& options) {
  return Checker(module, input, options).run();
}

}  // namespace tandem

#include "core/nn/parameter_store.h"

#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/nn/init.h"
#include "core/ops/convert.h"
#include "core/tensor/copy.h"

namespace tandem {

namespace {

/// The layout holds each parameter that trains exactly once, and names are unique.
void check(const ParameterLayout& layout, const ParameterList& all) {
  std::unordered_set<const Parameter*> placed;
  for (const auto& entry : layout.entries())
    require(placed.insert(entry.parameter).second, "{} lies twice in the layout", entry.parameter->name);
  std::unordered_set<std::string_view> names;
  for (const Parameter* parameter : all) {
    require(names.insert(parameter->name).second, "two parameters are named {}", parameter->name);
    require(placed.erase(parameter) == (parameter->frozen ? 0u : 1u),
            "{} is {}frozen, but lies {} the layout", parameter->name, parameter->frozen ? "" : "not ",
            parameter->frozen ? "in" : "outside");
  }
  require(placed.empty(), "the layout holds {} parameters that the model does not have", placed.size());
}

}  // namespace

ParameterStore ParameterStore::allocate(const Context& context, ParameterLayout layout,
                                        const ParameterList& all, std::optional<DType> grad_dtype) {
  check(layout, all);
  const DType grads = grad_dtype.value_or(layout.dtype());
  ParameterStore store(std::move(layout), all, grads);
  Arena measure;
  store.bind(measure);
  store.memory_ = Arena(context, measure.peak());
  store.bind(store.memory_);
  store.memory_.seal();
  return store;
}

void ParameterStore::bind(Arena& arena) {
  values_ = arena.allocate(layout_.dtype(), {layout_.numel()});
  masters_ = accumulator_of(layout_.dtype()) == layout_.dtype()
                 ? values_
                 : arena.allocate(accumulator_of(layout_.dtype()), {layout_.numel()});
  grads_ = arena.allocate(grad_dtype_, {layout_.numel()});
  for (const auto& [parameter, offset] : layout_.entries()) {
    parameter->value = values_.slice(offset, parameter->numel()).reshape(parameter->shape);
    parameter->grad = grads_.slice(offset, parameter->numel()).reshape(parameter->shape);
  }
  for (Parameter* parameter : all_) {
    if (!parameter->frozen) continue;
    parameter->value = arena.allocate(parameter->dtype, parameter->shape);
    parameter->grad = {};
    if (parameter->dtype != accumulator_of(parameter->dtype))
      frozen_masters_[parameter] = arena.allocate(accumulator_of(parameter->dtype), {parameter->numel()});
  }
}

void ParameterStore::initialize(Context& context, std::uint64_t seed) {
  std::vector<std::byte> drawn;  // on the host
  for (const Parameter* parameter : all_) {
    const TensorSpec spec{accumulator_of(parameter->dtype), {parameter->numel()}};
    drawn.resize(static_cast<std::size_t>(parameter->numel()) * size_of(spec.dtype));
    const Tensor values(drawn.data(), spec.dtype, spec.shape);
    draw_initial_value(*parameter, seed, values);
    set(context, *parameter, values);
  }
}

void ParameterStore::set(Context& context, const Parameter& parameter, const Tensor& from) {
  const Tensor master = master_of(parameter);
  copy(context.compute(), from, master);
  if (master.data() != parameter.value.data()) ops::convert(context, master, parameter.value);
  context.compute().synchronize();
}

void ParameterStore::get(Context& context, const Parameter& parameter, const Tensor& to) const {
  copy(context.compute(), master_of(parameter), to);
  context.compute().synchronize();
}

/// The f32 (or f64) copy of a parameter's values: the values themselves where they are of that type.
Tensor ParameterStore::master_of(const Parameter& parameter) const {
  if (parameter.dtype == accumulator_of(parameter.dtype)) return parameter.value;
  if (parameter.frozen) return frozen_masters_.at(&parameter);
  const auto offset =
      (static_cast<std::byte*>(parameter.value.data()) - static_cast<std::byte*>(values_.data())) /
      static_cast<std::ptrdiff_t>(size_of(values_.dtype()));
  return masters_.slice(offset, parameter.numel());
}

void ParameterStore::start_accumulation() {
  for (Parameter* parameter : all_) parameter->start_accumulation();
}

}  // namespace tandem

#include "core/nn/parameter_store.h"

#include <string_view>
#include <unordered_set>

#include "core/nn/init.h"

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
                                        const ParameterList& all) {
  check(layout, all);
  ParameterStore store(std::move(layout), all);
  Arena measure;
  store.bind(measure);
  store.memory_ = Arena(context, measure.peak());
  store.bind(store.memory_);
  store.memory_.seal();
  return store;
}

void ParameterStore::bind(Arena& arena) {
  values_ = arena.allocate(layout_.dtype(), {layout_.numel()});
  grads_ = arena.allocate(layout_.dtype(), {layout_.numel()});
  for (const auto& [parameter, offset] : layout_.entries()) {
    parameter->value = values_.slice(offset, parameter->numel()).reshape(parameter->shape);
    parameter->grad = grads_.slice(offset, parameter->numel()).reshape(parameter->shape);
  }
  for (Parameter* parameter : all_) {
    if (!parameter->frozen) continue;
    parameter->value = arena.allocate(parameter->dtype, parameter->shape);
    parameter->grad = {};
  }
}

void ParameterStore::initialize(std::uint64_t seed) {
  for (const Parameter* parameter : all_) draw_initial_value(*parameter, seed);
}

void ParameterStore::start_accumulation() {
  for (Parameter* parameter : all_) parameter->start_accumulation();
}

}  // namespace tandem

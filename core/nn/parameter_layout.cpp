#include "core/nn/parameter_layout.h"

namespace tandem {

namespace {

std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

}  // namespace

ParameterLayout ParameterLayout::in_order(const ParameterList& parameters) {
  ParameterLayout layout;
  for (Parameter* parameter : parameters)
    if (!parameter->frozen) layout.append(*parameter);
  return layout;
}

std::int64_t ParameterLayout::append(Parameter& parameter) {
  require(!parameter.frozen, "{} is frozen: it has no place among gradients", parameter.name);
  if (entries_.empty()) dtype_ = parameter.dtype;
  require(parameter.dtype == dtype_, "{} is {} in a layout of {}", parameter.name, name_of(parameter.dtype),
          name_of(dtype_));
  const std::int64_t offset = round_up(numel_, kAlignment);
  entries_.push_back({&parameter, offset});
  numel_ = offset + parameter.numel();
  return offset;
}

void ParameterLayout::pad_to(std::int64_t elements) {
  require(elements >= 1, "padding to a multiple of {} elements", elements);
  numel_ = round_up(numel_, elements);
}

}  // namespace tandem

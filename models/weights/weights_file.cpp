#include "models/weights/weights_file.h"

#include <map>
#include <set>

#include <fmt/ranges.h>

#include "models/weights/fit.h"
#include "models/weights/transpose.h"

namespace tandem {

WeightsFile::WeightsFile(const std::string& path, const ModelConfig& config)
    : weights_(open_weights(path, config.is_gpt())), config_(config) {
  check_fit(weights_, config_, make_model(config_)->parameters());
}

void WeightsFile::load(Context& context, ParameterStore& store) const {
  std::map<std::string, const StoredTensor*> tensors;
  for (const StoredTensor& tensor : weights_.tensors) tensors[tensor.name] = &tensor;

  std::vector<float> stored, values;
  for (const Parameter* parameter : store.parameters()) {
    const StoredTensor& tensor = *tensors.at(parameter->name);
    const StoredForm form = stored_form(*parameter, config_, weights_.order);
    stored.resize(static_cast<std::size_t>(tensor.shape.numel()));
    read_floats(tensor, 0, stored);
    if (form.transposed) {
      values.resize(stored.size());
      transpose(stored.data(), form.shape[0], form.shape[1], values.data());
      stored.swap(values);
    }
    stored.resize(static_cast<std::size_t>(parameter->numel()), 0.0f);
    store.set(context, *parameter, Tensor::of(stored.data(), {parameter->numel()}));
  }
  weights_.file->release_pages();
}

std::string WeightsFile::describe() const {
  std::set<std::string> types;
  for (const StoredTensor& tensor : weights_.tensors) types.insert(tensor.type);
  return fmt::format("{} ({}, {} tensors, {})", weights_.path, weights_.format, weights_.tensors.size(),
                     fmt::join(types, " and "));
}

}  // namespace tandem

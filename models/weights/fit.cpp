#include "models/weights/fit.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/ranges.h>

namespace tandem {

namespace {

using Tensors = std::map<std::string, const StoredTensor*>;

/// A size that the file shows, and the model's.
struct Size {
  const char *name, *option;
  std::optional<std::int64_t> stored;
  std::int64_t own;

  bool differs() const { return stored && *stored != own; }
};

std::optional<std::int64_t> dimension(const Tensors& tensors, const std::string& name, int index) {
  const auto found = tensors.find(name);
  if (found == tensors.end() || found->second->shape.rank() != 2) return {};
  return found->second->shape[index];
}

constexpr std::int64_t kMostParts = 1'000'000;

/// How many numbered parts the file has: one more than the largest number behind `prefix`.
std::optional<std::int64_t> count_parts(const Tensors& tensors, std::string_view prefix) {
  std::optional<std::int64_t> count;
  for (const auto& [name, tensor] : tensors) {
    if (!name.starts_with(prefix)) continue;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    if (error == std::errc() && *end == '.' && number < kMostParts)
      count = std::max(count.value_or(0), number + 1);
  }
  return count;
}

std::vector<Size> gpt_sizes(const StoredWeights& weights, const Tensors& tensors, const GptConfig& gpt) {
  return {{"layers", "--layers", count_parts(tensors, "h."), gpt.layers},
          {"width", "--width", dimension(tensors, "wte.weight", 1), gpt.width},
          {"heads", "--heads", weights.heads, gpt.heads},
          {"vocabulary", "--vocab", dimension(tensors, "wte.weight", 0), gpt.vocabulary},
          {"sequence", "--seq", dimension(tensors, "wpe.weight", 0), gpt.sequence}};
}

/// "--model gpt2" where that other preset has all sizes of the file; else the options one by one.
std::string advice(const std::vector<Size>& sizes, const std::string& model) {
  const auto is_stored = [&](const GptConfig& gpt) {
    const std::int64_t own[] = {gpt.layers, gpt.width, gpt.heads, gpt.vocabulary, gpt.sequence};
    return std::equal(sizes.begin(), sizes.end(), own,
                      [](const Size& size, std::int64_t n) { return size.stored.value_or(n) == n; });
  };
  for (const std::string& name : preset_names())
    if (const ModelConfig preset = model_config(name);
        name != model && preset.is_gpt() && is_stored(preset.gpt()))
      return "--model " + name;
  std::vector<std::string> options;
  for (const Size& size : sizes)
    if (size.differs()) options.push_back(fmt::format("{} {}", size.option, *size.stored));
  return fmt::format("{}", fmt::join(options, " "));
}

void check_gpt_sizes(const StoredWeights& weights, const Tensors& tensors, const ModelConfig& config) {
  const std::vector<Size> sizes = gpt_sizes(weights, tensors, config.gpt());
  std::vector<std::string> stored, own;
  for (const Size& size : sizes) {
    if (!size.differs()) continue;
    stored.push_back(fmt::format("{} {}", size.name, *size.stored));
    own.push_back(fmt::format("{} {}", size.name, size.own));
  }
  if (!stored.empty())
    throw DataError("{}: holds a model with {}, but the model here ({}) has {}: give {}, or another file",
                    weights.path, fmt::join(stored, ", "), config.name, fmt::join(own, ", "),
                    advice(sizes, config.name));
}

void check_mlp_sizes(const StoredWeights& weights, const Tensors& tensors, const ModelConfig& config) {
  std::vector<std::int64_t> stored;
  const std::int64_t layers = count_parts(tensors, "layers.").value_or(0);
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = fmt::format("layers.{}.weight", i);
    const auto in = dimension(tensors, name, 1), out = dimension(tensors, name, 0);
    if (!in || !out || (i > 0 && *in != stored.back())) return;  // no MLP: its tensors will be named
    if (i == 0) stored.push_back(*in);
    stored.push_back(*out);
  }
  const std::vector<std::int64_t>& own = config.mlp().sizes;
  if (!stored.empty() && stored != own)
    throw DataError("{}: holds an MLP of {}, but the model here is {}: give --mlp-sizes {}, or another file",
                    weights.path, fmt::join(stored, ","), fmt::join(own, ","), fmt::join(stored, ","));
}

/// "a, b, c and 4 more"
std::string list(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  const auto shown = std::min(names.size(), kMost);
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return names.size() > kMost ? fmt::format("{} and {} more", text, names.size() - kMost) : text;
}

void check_names(const StoredWeights& weights, Tensors tensors, const ParameterList& parameters) {
  std::vector<std::string> missing, surplus;
  for (const Parameter* parameter : parameters)
    if (tensors.erase(parameter->name) == 0) missing.push_back(parameter->name);
  for (const auto& [name, tensor] : tensors) surplus.push_back(name);
  if (missing.empty() && surplus.empty()) return;
  std::vector<std::string> faults;
  if (!missing.empty()) faults.push_back("lacks " + list(missing));
  if (!surplus.empty()) faults.push_back("holds " + list(surplus) + ", which the model does not have");
  throw DataError("{}: {}: it is of another model", weights.path, fmt::join(faults, "; "));
}

}  // namespace

void check_fit(const StoredWeights& weights, const ModelConfig& config, const ParameterList& parameters) {
  Tensors tensors;
  for (const StoredTensor& tensor : weights.tensors)
    if (!tensors.emplace(tensor.name, &tensor).second)
      throw DataError("{}: holds {} twice, with and without a prefix: it is damaged", weights.path,
                      tensor.name);
  if (config.is_gpt())
    check_gpt_sizes(weights, tensors, config);
  else
    check_mlp_sizes(weights, tensors, config);
  check_names(weights, tensors, parameters);
  for (const Parameter* parameter : parameters) {
    const StoredTensor& tensor = *tensors.at(parameter->name);
    const Shape expected = stored_form(*parameter, config, weights.order).shape;
    if (tensor.shape != expected)
      throw DataError("{}: {} is {}, not {}: it is of another model", weights.path, tensor.name,
                      tensor.shape.str(), expected.str());
    if (!is_floating(tensor))
      throw DataError("{}: {} is of type {}: weights are F32, F16, BF16 or F64", weights.path, tensor.name,
                      tensor.type);
  }
}

}  // namespace tandem

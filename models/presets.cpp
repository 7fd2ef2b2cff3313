#include "models/presets.h"

#include <fmt/ranges.h>

namespace tandem {

namespace {

std::vector<ModelConfig> presets() {
  const auto gpt2 = [](std::int64_t layers, std::int64_t width, std::int64_t heads) {
    return GptConfig{layers, width, heads, /*vocabulary=*/50257, /*sequence=*/1024};
  };
  return {{"mlp", MlpConfig{}},
          {"gpt-nano", GptConfig{4, 256, 4, 256, 128}},
          {"gpt-mini", GptConfig{8, 512, 8, 256, 128}},
          {"gpt2", gpt2(12, 768, 12)},
          {"gpt2-medium", gpt2(24, 1024, 16)},
          {"gpt2-large", gpt2(36, 1280, 20)},
          {"gpt2-xl", gpt2(48, 1600, 25)}};
}

ModelConfig find_preset(std::string_view name) {
  for (ModelConfig& preset : presets())
    if (preset.name == name) return std::move(preset);
  throw UsageError("--model {}: no such model; there are {}", name, fmt::join(preset_names(), ", "));
}

/// Far beyond any model that was ever trained, and small enough for products of them to fit 64 bits.
void check_dimension(std::string_view option, std::int64_t value, std::int64_t most) {
  if (value < 1 || value > most) throw UsageError("{} {}: must be between 1 and {}", option, value, most);
}

void refuse(std::string_view option, bool given, const ModelConfig& config) {
  if (given)
    throw UsageError("{} does not apply to --model {}, which is {}", option, config.name,
                     config.is_gpt() ? "a transformer" : "an MLP");
}

void apply(const ModelOverrides& overrides, GptConfig& gpt) {
  gpt.layers = overrides.layers.value_or(gpt.layers);
  gpt.width = overrides.width.value_or(gpt.width);
  gpt.heads = overrides.heads.value_or(gpt.heads);
  gpt.vocabulary = overrides.vocabulary.value_or(gpt.vocabulary);
  gpt.sequence = overrides.sequence.value_or(gpt.sequence);
  gpt.recompute = overrides.recompute;
  check_dimension("--layers", gpt.layers, 1000);
  check_dimension("--width", gpt.width, 1 << 17);
  check_dimension("--heads", gpt.heads, 1 << 17);
  check_dimension("--vocab", gpt.vocabulary, 1 << 24);
  check_dimension("--seq", gpt.sequence, 1 << 20);
  if (gpt.width % gpt.heads != 0)
    throw UsageError("--heads {} does not divide --width {}: each head takes an equal share of the width",
                     gpt.heads, gpt.width);
}

void apply(const ModelOverrides& overrides, MlpConfig& mlp) {
  mlp.sizes = overrides.mlp_sizes.value_or(mlp.sizes);
  mlp.activation = overrides.activation.value_or(mlp.activation);
  if (mlp.sizes.size() < 2 || mlp.sizes.size() > 1000)
    throw UsageError("--mlp-sizes {}: give the input's size, any hidden sizes, and the output's",
                     fmt::join(mlp.sizes, ","));
  for (const std::int64_t size : mlp.sizes) check_dimension("--mlp-sizes", size, 1 << 24);
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const ModelConfig& preset : presets()) names.push_back(preset.name);
  return names;
}

ModelConfig model_config(std::string_view preset, const ModelOverrides& overrides) {
  ModelConfig config = find_preset(preset);
  const bool gpt = config.is_gpt();
  refuse("--mlp-sizes", gpt && overrides.mlp_sizes, config);
  refuse("--activation", gpt && overrides.activation, config);
  refuse("--layers", !gpt && overrides.layers, config);
  refuse("--width", !gpt && overrides.width, config);
  refuse("--heads", !gpt && overrides.heads, config);
  refuse("--vocab", !gpt && overrides.vocabulary, config);
  refuse("--seq", !gpt && overrides.sequence, config);
  refuse("--recompute", !gpt && overrides.recompute != Recompute::none, config);
  std::visit([&](auto& dimensions) { apply(overrides, dimensions); }, config.dimensions);
  return config;
}

std::unique_ptr<Module> make_model(const ModelConfig& config) {
  if (config.is_gpt()) return std::make_unique<Gpt>(config.gpt());
  return std::make_unique<Mlp>(config.mlp());
}

std::int64_t classes_of(const ModelConfig& config) {
  return config.is_gpt() ? config.gpt().vocabulary : config.mlp().sizes.back();
}

std::int64_t parameter_count(Module& model) {
  std::int64_t count = 0;
  for (const Parameter* parameter : model.parameters()) count += parameter->numel();
  return count;
}

double model_flop(const ModelConfig& config) {
  const std::int64_t parameters = parameter_count(*make_model(config));
  if (!config.is_gpt()) return 6.0 * static_cast<double>(parameters);
  const GptConfig& gpt = config.gpt();
  const std::int64_t padding = (gpt.padded_vocabulary() - gpt.vocabulary) * gpt.width;  // is no work
  return 6.0 * static_cast<double>(parameters - padding) +
         6.0 * static_cast<double>(gpt.layers * gpt.width * gpt.sequence);
}

}  // namespace tandem

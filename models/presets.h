#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/gpt.h"
#include "models/mlp.h"

namespace tandem {

/// What to build: a preset's name and its dimensions, overridden or not.
struct ModelConfig {
  std::string name;
  std::variant<MlpConfig, GptConfig> dimensions;

  bool is_gpt() const { return std::holds_alternative<GptConfig>(dimensions); }
  const GptConfig& gpt() const { return std::get<GptConfig>(dimensions); }
  const MlpConfig& mlp() const { return std::get<MlpConfig>(dimensions); }
};

/// Dimensions that the user gave; the others stay as the preset has them.
struct ModelOverrides {
  std::optional<std::vector<std::int64_t>> mlp_sizes;
  std::optional<ops::Activation> activation;  ///< mlp only
  std::optional<std::int64_t> layers, width, heads, vocabulary, sequence;
  Recompute recompute = Recompute::none;  ///< gpt only
};

/// The presets, in the order in which messages list them:
///
///     name         layers  width  heads  sequence  vocabulary  parameters
///     mlp          sizes 784, 1024, 1024, 10, ReLU              1.86 M
///     gpt-nano          4    256      4       128         256   3.26 M
///     gpt-mini          8    512      8       128         256   25.4 M: 102 MB of fp32 gradients
///     gpt2             12    768     12      1024       50257   124 M
///     gpt2-medium      24   1024     16      1024       50257   355 M
///     gpt2-large       36   1280     20      1024       50257   774 M
///     gpt2-xl          48   1600     25      1024       50257   1.56 B
std::vector<std::string> preset_names();

/// The preset with the overrides applied. Throws UsageError, in one line that names the option, for an
/// unknown name, a dimension that is not positive or absurdly large, heads that do not divide the width, and
/// an option of the other kind of model.
ModelConfig model_config(std::string_view preset, const ModelOverrides& overrides = {});

/// A new model, not yet planned or bound to memory. Making one costs no memory to speak of, so that any size
/// can be looked at.
std::unique_ptr<Module> make_model(const ModelConfig& config);

/// What the model tells apart: tokens or classes. Its outputs may have more columns, which are padding.
std::int64_t classes_of(const ModelConfig& config);

/// Learnable numbers in the model, those of the padded vocabulary too; a tied one counts once.
std::int64_t parameter_count(Module& model);

/// Floating-point operations of one training step per token (gpt: 6N + 6·layers·width·T, T = config's
/// sequence) or per sample (mlp: 6N). N = all parameters; backward = 2 × forward, the causal half of
/// attention, nothing recomputed. Source: Kaplan et al. 2020, PaLM's appendix B, with the causal half.
double model_flop(const ModelConfig& config);

}  // namespace tandem

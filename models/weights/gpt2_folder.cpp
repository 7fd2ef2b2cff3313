#include "models/weights/gpt2_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "core/ops/layer_norm.h"

namespace tandem {

namespace fs = std::filesystem;

namespace {

bool is_mask(std::string_view name) {
  return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias");
}

bool same_values(const StoredTensor& a, const StoredTensor& b) {
  if (a.shape != b.shape) return false;
  std::array<float, 4096> left, right;
  for (std::int64_t i = 0; i < a.shape.numel(); i += std::ssize(left)) {
    const auto count =
        static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(left), a.shape.numel() - i));
    read_floats(a, i, {left.data(), count});
    read_floats(b, i, {right.data(), count});
    if (!std::equal(left.begin(), left.begin() + count, right.begin())) return false;
  }
  return true;
}

/// The head is tied to the token table: drops it if it is that table, and refuses it otherwise.
void drop_head(StoredWeights& weights) {
  const auto find = [&](std::string_view name) {
    return std::find_if(weights.tensors.begin(), weights.tensors.end(),
                        [&](const StoredTensor& t) { return t.name == name; });
  };
  const auto head = find("lm_head.weight"), table = find("wte.weight");
  if (head == weights.tensors.end()) return;
  if (table == weights.tensors.end() || !same_values(*head, *table))
    throw DataError("{}: lm_head.weight is not wte.weight: models with a head of its own are not supported",
                    weights.path);
  weights.tensors.erase(head);
}

nlohmann::json read_config(const fs::path& path) {
  try {
    return nlohmann::json::parse(std::ifstream(path));
  } catch (const nlohmann::json::exception& error) {
    throw DataError("{}: is not JSON ({})", path.string(), error.what());
  }
}

/// Throws if config.json gives `name` another value than one of `allowed`.
void expect(const fs::path& path, const nlohmann::json& config, const char* name,
            const std::vector<nlohmann::json>& allowed) {
  const auto found = config.find(name);
  if (found == config.end() || std::find(allowed.begin(), allowed.end(), *found) != allowed.end()) return;
  throw DataError("{}: {} is {}, which is not supported; GPT-2's is {}", path.string(), name, found->dump(),
                  allowed.front().dump());
}

/// What the tensors do not show: the number of heads. And that the model computes what ours does.
void read_folder(StoredWeights& weights, const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  const nlohmann::json config = read_config(path);
  if (!config.is_object()) throw DataError("{}: is no JSON object", path.string());
  expect(path, config, "model_type", {"gpt2"});
  expect(path, config, "activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  expect(path, config, "layer_norm_epsilon", {ops::kLayerNormEpsilon});
  expect(path, config, "scale_attn_weights", {true});
  expect(path, config, "scale_attn_by_inverse_layer_idx", {false});
  expect(path, config, "tie_word_embeddings", {true});
  if (const auto heads = config.find("n_head"); heads != config.end() && heads->is_number_unsigned())
    weights.heads = heads->get<std::int64_t>();
}

}  // namespace

void from_gpt2_naming(StoredWeights& weights, const std::string& folder) {
  weights.order = MatrixOrder::in_out;
  std::erase_if(weights.tensors, [](const StoredTensor& tensor) { return is_mask(tensor.name); });
  for (StoredTensor& tensor : weights.tensors)
    if (tensor.name.starts_with(kGpt2Prefix)) tensor.name.erase(0, kGpt2Prefix.size());
  drop_head(weights);
  if (!folder.empty()) read_folder(weights, fs::path(folder) / "config.json");
}

std::string gpt2_config_json(const GptConfig& config) {
  // Token 50256 ends a text in GPT-2's own vocabulary; others have none that we know of.
  const nlohmann::json end = config.vocabulary == 50257 ? nlohmann::json(50256) : nlohmann::json();
  const nlohmann::ordered_json json = {{"model_type", "gpt2"},
                                       {"architectures", {"GPT2LMHeadModel"}},
                                       {"vocab_size", config.vocabulary},
                                       {"n_positions", config.sequence},
                                       {"n_ctx", config.sequence},
                                       {"n_embd", config.width},
                                       {"n_layer", config.layers},
                                       {"n_head", config.heads},
                                       {"activation_function", "gelu_new"},
                                       {"layer_norm_epsilon", ops::kLayerNormEpsilon},
                                       {"embd_pdrop", 0.0},
                                       {"resid_pdrop", 0.0},
                                       {"attn_pdrop", 0.0},
                                       {"tie_word_embeddings", true},
                                       {"bos_token_id", end},
                                       {"eos_token_id", end},
                                       {"torch_dtype", "float32"}};
  return json.dump(2) + "\n";
}

}  // namespace tandem

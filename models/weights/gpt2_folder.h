#pragma once

#include <string>

#include "models/weights/stored_weights.h"

namespace tandem {

// GPT-2 as Hugging Face's transformers keep it: a folder with model.safetensors and config.json.
//
// Names are ours, with or without "transformer." before them. The four matrices of a block are [in, out].
// Beside the parameters there may be lm_head.weight, which is wte.weight once more, and each block's
// attention mask (attn.bias, attn.masked_bias), which is none.

/// What GPT2LMHeadModel puts before each name.
inline constexpr std::string_view kGpt2Prefix = "transformer.";

/// Turns what the file holds into weights under our names. `folder`: where a config.json may say more; empty:
/// nowhere. Throws DataError if the head is not the token table, or config.json describes another
/// architecture.
void from_gpt2_naming(StoredWeights& weights, const std::string& folder);

/// What config.json says of such a model.
std::string gpt2_config_json(const GptConfig& config);

}  // namespace tandem

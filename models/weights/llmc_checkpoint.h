#pragma once

#include <string>

#include "models/weights/stored_weights.h"

namespace tandem {

// A checkpoint of llm.c (gpt2_124M.bin, model_00001000.bin): 256 little-endian int32, of which
//
//     [0] magic 20240326   [1] version: 3 for fp32, 5 for bf16   [2] sequence   [3] vocabulary   [4] layers
//     [5] heads            [6] width                             [7] rows of the token table, padding
//     included
//
// and then all values of that type: wte, wpe, and for each kind of a block's parameters (ln_1, attn.c_attn,
// attn.c_proj, ln_2, mlp.c_fc, mlp.c_proj, weight before bias) that of every block, one after the other; last
// ln_f. Matrices are [out, in], as ours. Source: github.com/karpathy/llm.c, train_gpt2.py, write_model().

/// Whether the file starts as one. False for a file that cannot be read: opening it will say so.
bool is_llmc_checkpoint(const std::string& path);

/// Throws DataError for another version, absurd sizes, and a file that is not as long as they say.
StoredWeights open_llmc_checkpoint(const std::string& path);

}  // namespace tandem

#pragma once

#include <string>
#include <vector>

#include "dataloader/token_stream.h"

namespace tandem {

/// llm.c's token files, all that `pattern` (a glob, or one file's path) matches, in sorted order. A file is a
/// header of 256 little-endian int32 (magic 20240520, version 1, number of tokens, zeros), then uint16
/// tokens. Throws DataError if nothing matches or a file is not that, whole.
std::vector<TokenStream> open_token_shards(const std::string& pattern);

/// A file of nothing but uint16 tokens (nanoGPT's train.bin). Throws DataError if it is missing, empty, odd
/// in size, or one of llm.c's.
TokenStream open_raw_tokens(const std::string& path);

/// Text as bytes: a file, or a folder's regular files one after the other in the order of their names (links
/// and subfolders are skipped). Throws DataError if there is none, or not one byte.
TokenStream open_text(const std::string& path);

}  // namespace tandem

#pragma once

#include <string>

#include "core/device/context.h"
#include "core/nn/parameter_store.h"
#include "models/presets.h"

namespace tandem {

/// Writes all weights in f32 (of short types the masters) to a safetensors file: `path` itself if it ends in
/// .safetensors, else model.safetensors in the folder `path`. A GPT's are named and laid out as Hugging
/// Face's GPT2LMHeadModel has them, without what pads the vocabulary, and the folder gets the config.json
/// that it is loaded with; an MLP's have their own names. Files that were there are replaced, each as a
/// whole. Blocks the host; throws DeviceError.
void export_weights(Context& context, const ModelConfig& config, const ParameterStore& store,
                    const std::string& path);

/// Makes the folder that export_weights() will write to. Throws UsageError if that cannot be done, or nothing
/// could be written there: better known before hours of training than after.
void prepare_export(const std::string& path);

}  // namespace tandem

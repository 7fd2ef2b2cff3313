#pragma once

#include <string>

#include "core/device/context.h"
#include "core/nn/parameter_store.h"
#include "models/weights/stored_weights.h"

namespace tandem {

/// A file with all weights of a model: known to fit it once it is open, so that nothing is ever half loaded.
class WeightsFile {
 public:
  /// Opens a safetensors file, a folder that holds model.safetensors, or for a GPT a checkpoint of llm.c, and
  /// checks it against the model. Of a GPT's file the names and matrices are those of Hugging Face's GPT-2,
  /// of an MLP's our own. Throws DataError (see SafetensorsFile and check_fit()).
  WeightsFile(const std::string& path, const ModelConfig& config);

  /// Gives the parameters the file's values, rounded to f32 if they are longer; what pads a vocabulary
  /// becomes 0. Blocks the host.
  void load(Context& context, ParameterStore& store) const;
  /// "PATH (safetensors, 148 tensors, F32)"
  std::string describe() const;

 private:
  StoredWeights weights_;
  ModelConfig config_;
};

}  // namespace tandem

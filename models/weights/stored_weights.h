#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/mapped_file.h"
#include "core/checkpoint/stored_tensor.h"
#include "core/nn/parameter.h"
#include "models/presets.h"

namespace tandem {

/// How the matrices of a transformer's blocks are stored.
enum class MatrixOrder {
  out_in,  ///< as ours and PyTorch's nn.Linear
  in_out,  ///< transposed: Hugging Face's GPT-2, whose Conv1D it is
};

/// A file's weights under our parameters' names, before it is known whether they fit a model.
struct StoredWeights {
  std::string path;
  std::string format;  ///< for a person: "safetensors"
  MatrixOrder order = MatrixOrder::out_in;
  std::optional<std::int64_t> heads;  ///< of a GPT, where the file tells
  std::vector<StoredTensor> tensors;
  std::shared_ptr<const MappedFile> file;  ///< which holds their bytes
};

/// What a parameter looks like in a file.
struct StoredForm {
  Shape shape;              ///< without the rows that pad a vocabulary
  bool transposed = false;  ///< a matrix [in, out]
};

StoredForm stored_form(const Parameter& parameter, const ModelConfig& config, MatrixOrder order);

/// Opens the weights of a GPT or an MLP: a safetensors file, a folder that holds model.safetensors, or for a
/// GPT a checkpoint of llm.c. Throws DataError, naming the file.
StoredWeights open_weights(const std::string& path, bool gpt);

}  // namespace tandem

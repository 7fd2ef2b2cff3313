#include "models/weights/stored_weights.h"

#include <filesystem>

#include "core/checkpoint/safetensors_file.h"
#include "models/weights/gpt2_folder.h"
#include "models/weights/llmc_checkpoint.h"

namespace tandem {

namespace fs = std::filesystem;

namespace {

/// Where the safetensors lie that `path` names.
std::string file_of(const std::string& path) {
  std::error_code ignored;  // of a path that is not there; opening it will say so
  if (!fs::is_directory(path, ignored)) return path;
  const fs::path file = fs::path(path) / "model.safetensors";
  if (fs::exists(file, ignored)) return file.string();
  if (fs::exists(fs::path(path) / "model.safetensors.index.json", ignored))
    throw DataError("{}: its weights lie in several files: save them as one, model.safetensors", path);
  throw DataError("{}: holds no model.safetensors: name a folder that does, or a file", path);
}

}  // namespace

StoredForm stored_form(const Parameter& parameter, const ModelConfig& config, MatrixOrder order) {
  const Shape& shape = parameter.shape;
  if (!config.is_gpt()) return {shape};
  if (parameter.name == "wte.weight") return {{config.gpt().vocabulary, shape.last()}};
  const bool in_a_block = parameter.name.starts_with("h.");
  if (order == MatrixOrder::in_out && in_a_block && shape.rank() == 2) return {{shape[1], shape[0]}, true};
  return {shape};
}

StoredWeights open_weights(const std::string& path, bool gpt) {
  const std::string name = file_of(path);
  check_regular_file(name);
  if (gpt && is_llmc_checkpoint(name)) return open_llmc_checkpoint(name);
  const SafetensorsFile file(name);
  StoredWeights weights{
      .path = name, .format = "safetensors", .heads = {}, .tensors = file.tensors(), .file = file.file()};
  if (gpt) from_gpt2_naming(weights, name == path ? "" : path);
  return weights;
}

}  // namespace tandem

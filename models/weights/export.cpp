#include "models/weights/export.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include "core/checkpoint/safetensors_writer.h"
#include "models/weights/gpt2_folder.h"
#include "models/weights/transpose.h"

namespace tandem {

namespace fs = std::filesystem;

namespace {

bool is_one_file(const fs::path& path) {
  return path.extension() == ".safetensors";
}

fs::path folder_of(const fs::path& path) {
  if (!is_one_file(path)) return path;
  return path.has_parent_path() ? path.parent_path() : ".";
}

std::string stored_name(const Parameter& parameter, const ModelConfig& config) {
  return config.is_gpt() ? std::string(kGpt2Prefix) + parameter.name : parameter.name;
}

void write_text(const fs::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace

void export_weights(Context& context, const ModelConfig& config, const ParameterStore& store,
                    const std::string& path) {
  std::vector<NamedSpec> specs;
  for (const Parameter* parameter : store.parameters())
    specs.push_back({stored_name(*parameter, config),
                     {DType::f32, stored_form(*parameter, config, MatrixOrder::in_out).shape}});
  const fs::path target = path;
  SafetensorsWriter file(is_one_file(target) ? target : target / "model.safetensors", specs,
                         {{"format", "pt"}});

  std::vector<float> values, transposed;
  for (const Parameter* parameter : store.parameters()) {
    const StoredForm form = stored_form(*parameter, config, MatrixOrder::in_out);
    values.resize(static_cast<std::size_t>(parameter->numel()));
    store.get(context, *parameter, Tensor::of(values.data(), {parameter->numel()}));
    if (form.transposed) {
      transposed.resize(values.size());
      transpose(values.data(), form.shape[1], form.shape[0], transposed.data());
      values.swap(transposed);
    }
    file.append(Tensor::of(values.data(), form.shape));
  }
  if (config.is_gpt() && !is_one_file(target))
    write_text(target / "config.json", gpt2_config_json(config.gpt()));
  file.commit();
}

void prepare_export(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--export {}: cannot be written: {}; choose another path", path, why);
  };
  const fs::path folder = folder_of(path);
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) refuse(error.message());
  if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse(std::strerror(errno));
  if (is_one_file(path) && fs::is_directory(path, error)) refuse("it is a folder");
}

}  // namespace tandem

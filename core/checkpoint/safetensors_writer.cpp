#include "core/checkpoint/safetensors_writer.h"

#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/checkpoint/safetensors_type.h"

namespace tandem {

namespace {

std::string header_of(const std::vector<NamedSpec>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t begin = 0;
  for (const auto& [name, spec] : tensors) {
    require(name != "__metadata__" && !header.contains(name), "a file cannot hold two tensors named '{}'",
            name);
    std::vector<std::int64_t> shape;
    for (int i = 0; i < spec.shape.rank(); ++i) shape.push_back(spec.shape[i]);
    const SafetensorsType& type = safetensors_type_of(spec.dtype);
    const std::int64_t end = begin + spec.shape.numel() * type.bytes;
    header[name] = {{"dtype", type.name}, {"shape", shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the values start at a multiple of 8
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::vector<NamedSpec> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : tensors_(std::move(tensors)), file_(path) {
  const std::string header = header_of(tensors_, metadata);
  const std::uint64_t length = header.size();
  file_.write(&length, sizeof length);
  file_.write(header.data(), header.size());
}

void SafetensorsWriter::append(const Tensor& values) {
  require(next_ < tensors_.size(), "{} tensors were announced, but one more was appended", tensors_.size());
  const auto& [name, spec] = tensors_[next_++];
  require(values.dtype() == spec.dtype && values.numel() == spec.shape.numel(),
          "'{}' was announced as {} {}, but is {} {}", name, name_of(spec.dtype), spec.shape.str(),
          name_of(values.dtype()), values.shape().str());
  file_.write(values.data(), static_cast<std::size_t>(values.bytes()));
}

void SafetensorsWriter::commit() {
  require(next_ == tensors_.size(), "only {} of {} tensors were appended", next_, tensors_.size());
  file_.commit();
}

}  // namespace tandem

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/philox.h"
#include "core/checkpoint/safetensors_file.h"
#include "core/checkpoint/safetensors_writer.h"
#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Safetensors, WhatIsWrittenIsRead) {
  const TempFolder folder;
  const std::string path = folder.path("a.safetensors");
  Philox random(1);
  std::vector<NamedSpec> specs = {{"matrix", {DType::f32, {3, 5}}},
                                  {"a scalar", {DType::f64, {}}},
                                  {"bf16", {DType::bf16, {2, 1, 2, 2}}},
                                  {"none", {DType::f16, {0, 4}}},
                                  {"steps", {DType::i64, {2}}},
                                  {"ümlaut \"quoted\"", {DType::u8, {7}}},
                                  {"i32", {DType::i32, {3}}}};
  std::vector<std::vector<std::uint8_t>> values;
  SafetensorsWriter writer(path, specs, {{"format", "pt"}});
  for (const NamedSpec& named : specs) {
    auto& bytes = values.emplace_back(
        static_cast<std::size_t>(Tensor(nullptr, named.spec.dtype, named.spec.shape).bytes()));
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    writer.append({bytes.data(), named.spec.dtype, named.spec.shape});
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  writer.commit();

  const SafetensorsFile file(path);
  ASSERT_EQ(file.tensors().size(), specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const StoredTensor& tensor = file.tensors()[i];
    EXPECT_EQ(tensor.name, specs[i].name);
    EXPECT_EQ(tensor.dtype, specs[i].spec.dtype);
    EXPECT_EQ(tensor.shape, specs[i].spec.shape);
    EXPECT_EQ(std::vector(tensor.bytes.begin(), tensor.bytes.end()), values[i]);
  }
}

TEST(Safetensors, TheFileIsAsTheFormatSays) {
  const TempFolder folder;
  const std::string path = folder.path("a.safetensors");
  std::vector<float> a = {1, 2}, b = {3};
  SafetensorsWriter writer(path, {{"a", {DType::f32, {2}}}, {"b", {DType::f32, {1, 1}}}}, {{"format", "pt"}});
  writer.append(Tensor::of(a.data(), {2}));
  writer.append(Tensor::of(b.data(), {1}));
  writer.commit();

  const std::string bytes = content(path);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + length + 12);
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  EXPECT_EQ(header,
            (nlohmann::json{{"__metadata__", {{"format", "pt"}}},
                            {"a", {{"dtype", "F32"}, {"shape", {2}}, {"data_offsets", {0, 8}}}},
                            {"b", {{"dtype", "F32"}, {"shape", {1, 1}}, {"data_offsets", {8, 12}}}}}));
  EXPECT_EQ(bytes.substr(8 + length, 8), bytes_of(a));
}

TEST(Safetensors, NoTensorsIsAFileToo) {
  const TempFolder folder;
  SafetensorsWriter(folder.path("empty"), {}).commit();
  EXPECT_TRUE(SafetensorsFile(folder.path("empty")).tensors().empty());
}

TEST(Safetensors, TheWriterKeepsToWhatWasAnnounced) {
  const TempFolder folder;
  std::vector<float> values(4);
  std::vector<double> longer(2);
  SafetensorsWriter writer(folder.path("a"), {{"a", {DType::f32, {4}}}, {"b", {DType::f32, {2}}}});
  writer.append(Tensor::of(values.data(), {2, 2}));
  EXPECT_THROW(writer.commit(), ContractError);
  EXPECT_THROW(writer.append(Tensor::of(longer.data(), {2})), ContractError);
  EXPECT_THROW(writer.append(Tensor::of(values.data(), {4})), ContractError);
  EXPECT_THROW(SafetensorsWriter(folder.path("b"), {{"a", {}}, {"a", {}}}), ContractError);
  EXPECT_THROW(SafetensorsWriter(folder.path("b"), {{"__metadata__", {}}}), ContractError);
  EXPECT_FALSE(std::filesystem::exists(folder.path("b")));
}

}  // namespace
}  // namespace tandem

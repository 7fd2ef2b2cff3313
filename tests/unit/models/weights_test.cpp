#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/checkpoint/safetensors_file.h"
#include "core/checkpoint/safetensors_writer.h"
#include "models/weights/export.h"
#include "models/weights/weights_file.h"
#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

/// A model with values, but without activations.
struct Net {
  explicit Net(ModelConfig config_, std::uint64_t seed = 1)
      : config(std::move(config_)),
        module(make_model(config)),
        store(ParameterStore::allocate(context, ParameterLayout::in_order(module->parameters()),
                                       module->parameters())) {
    store.initialize(context, seed);
    for (Parameter* p : module->parameters())  // nothing that an exchange would not show
      for (std::int64_t i = 0; i < p->numel(); ++i)
        p->value.as<float>()[i] += 1e-3f * static_cast<float>(i % 97);
  }

  void write(const std::string& path) {
    prepare_export(path);
    export_weights(context, config, store, path);
  }
  void read(const std::string& path) { WeightsFile(path, config).load(context, store); }
  Parameter& at(const std::string& name) {
    for (Parameter* p : module->parameters())
      if (p->name == name) return *p;
    throw ContractError("no {}", name);
  }

  ModelConfig config;
  Context context = Context::cpu();
  std::unique_ptr<Module> module;
  ParameterStore store;
};

ModelConfig small_gpt(std::int64_t vocabulary = 50) {
  ModelConfig config = model_config("gpt-nano");
  config.dimensions =
      GptConfig{.layers = 2, .width = 12, .heads = 3, .vocabulary = vocabulary, .sequence = 7};
  return config;
}

ModelConfig small_mlp(std::vector<std::int64_t> sizes = {6, 5, 3}) {
  return model_config("mlp", {.mlp_sizes = sizes,
                              .activation = {},
                              .layers = {},
                              .width = {},
                              .heads = {},
                              .vocabulary = {},
                              .sequence = {}});
}

void expect_same(Net& a, Net& b) {
  for (Parameter* p : a.module->parameters())
    EXPECT_EQ(
        std::memcmp(p->value.data(), b.at(p->name).value.data(), static_cast<std::size_t>(p->value.bytes())),
        0)
        << p->name;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Tensors that a test changes before they are written.
class Draft {
 public:
  explicit Draft(const std::string& path) {
    const SafetensorsFile file(path);
    for (const StoredTensor& t : file.tensors())
      tensors_[t.name] = {{*t.dtype, t.shape}, {t.bytes.begin(), t.bytes.end()}};
  }
  void erase(const std::string& name) { tensors_.erase(name); }
  void copy(const std::string& from, const std::string& to) { tensors_[to] = tensors_.at(from); }
  void add(const std::string& name, DType dtype, Shape shape) {
    tensors_[name] = {{dtype, shape},
                      std::vector<std::uint8_t>(static_cast<std::size_t>(shape.numel()) * size_of(dtype))};
  }
  std::vector<std::uint8_t>& bytes(const std::string& name) { return tensors_.at(name).second; }
  void reshape(const std::string& name, Shape shape) { tensors_.at(name).first.shape = shape; }
  void rename_all(const std::function<std::string(const std::string&)>& f) {
    decltype(tensors_) renamed;
    for (auto& [name, tensor] : tensors_) renamed[f(name)] = tensor;
    tensors_ = renamed;
  }
  void write(const std::string& path) {
    std::vector<NamedSpec> specs;
    for (const auto& [name, tensor] : tensors_) specs.push_back({name, tensor.first});
    SafetensorsWriter writer(path, specs);
    for (auto& [name, tensor] : tensors_)
      writer.append({tensor.second.data(), tensor.first.dtype, tensor.first.shape});
    writer.commit();
  }

 private:
  std::map<std::string, std::pair<TensorSpec, std::vector<std::uint8_t>>> tensors_;
};

class Weights : public testing::Test {
 protected:
  std::string good(const ModelConfig& config) {
    Net net(config);
    net.write(path_);
    return path_;
  }
  void refuse(const std::string& path, const ModelConfig& config, const std::vector<std::string>& expected) {
    try {
      const WeightsFile file(path, config);
      FAIL() << "was taken";
    } catch (const DataError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find(path), 0u) << message;
      for (const std::string& part : expected)
        EXPECT_NE(message.find(part), std::string::npos) << message << "\n" << part;
    }
  }

  const TempFolder folder_;
  const std::string path_ = folder_.path("weights.safetensors");
};

TEST_F(Weights, OutAndInAgainAreTheSame) {
  for (const ModelConfig& config : {small_gpt(), small_mlp()}) {
    Net from(config, 1), to(config, 2);
    from.write(path_);
    to.read(path_);
    expect_same(from, to);
    to.write(folder_.path("again.safetensors"));
    EXPECT_EQ(content(path_), content(folder_.path("again.safetensors")));
  }
}

TEST_F(Weights, GptIsStoredAsHuggingFaceHasIt) {
  Net net(small_gpt());
  net.write(folder_.path("gpt"));
  const SafetensorsFile file(folder_.path("gpt/model.safetensors"));
  EXPECT_EQ(file.tensors().size(), 2u + 2 * 12 + 2);
  std::map<std::string, StoredTensor> tensors;
  for (const StoredTensor& t : file.tensors()) tensors[t.name] = t;
  EXPECT_EQ(tensors.at("transformer.wte.weight").shape, (Shape{50, 12}));
  EXPECT_EQ(tensors.at("transformer.h.1.attn.c_attn.weight").shape, (Shape{12, 36}));
  EXPECT_EQ(tensors.at("transformer.h.1.mlp.c_proj.weight").shape, (Shape{48, 12}));
  std::vector<float> stored(12 * 36);
  read_floats(tensors.at("transformer.h.0.attn.c_attn.weight"), 0, stored);
  const float* own = net.at("h.0.attn.c_attn.weight").value.as<float>();  // [36, 12]
  for (int in = 0; in < 12; ++in)
    for (int out = 0; out < 36; ++out) EXPECT_EQ(stored[in * 36 + out], own[out * 12 + in]);
  const std::string config = content(folder_.path("gpt/config.json"));
  for (const char* part :
       {"\"n_head\": 3", "\"n_layer\": 2", "\"n_embd\": 12", "\"vocab_size\": 50", "\"n_positions\": 7",
        "\"activation_function\": \"gelu_new\"", "\"layer_norm_epsilon\": 1e-05"})
    EXPECT_NE(config.find(part), std::string::npos) << config;
}

TEST_F(Weights, ALargeVocabularyIsStoredWithoutItsPadding) {
  Net from(small_gpt(1100), 1), to(small_gpt(1100), 2);
  ASSERT_EQ(from.at("wte.weight").shape[0], 1152);
  from.write(path_);
  EXPECT_EQ(SafetensorsFile(path_).tensors().front().shape, (Shape{1100, 12}));
  to.read(path_);
  const float* table = to.at("wte.weight").value.as<float>();
  EXPECT_EQ(std::memcmp(table, from.at("wte.weight").value.data(), 1100 * 12 * sizeof(float)), 0);
  for (int i = 1100 * 12; i < 1152 * 12; ++i) EXPECT_EQ(table[i], 0.0f);
}

TEST_F(Weights, NamesWithoutPrefixMasksAndATiedHead) {
  Net from(small_gpt(), 1), to(small_gpt(), 2);
  from.write(path_);
  Draft draft(path_);
  draft.rename_all([](const std::string& name) { return name.substr(std::string("transformer.").size()); });
  draft.copy("wte.weight", "lm_head.weight");
  draft.add("h.0.attn.bias", DType::u8, {1, 1, 7, 7});
  draft.add("h.1.attn.masked_bias", DType::f32, {});
  draft.write(path_);
  to.read(path_);
  expect_same(from, to);
}

TEST_F(Weights, ShorterTypesAreReadExactly) {
  Net from(small_mlp({4, 2})), to(small_mlp({4, 2}), 2);
  for (Parameter* p : from.module->parameters())
    for (std::int64_t i = 0; i < p->numel(); ++i) p->value.as<float>()[i] = static_cast<float>(i) / 4 - 1;
  SafetensorsWriter writer(
      path_, {{"layers.0.weight", {DType::bf16, {2, 4}}}, {"layers.0.bias", {DType::f64, {2}}}});
  std::vector<std::uint16_t> weight;
  for (int i = 0; i < 8; ++i) {
    const float value = static_cast<float>(i) / 4 - 1;
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    weight.push_back(static_cast<std::uint16_t>(bits >> 16));
  }
  std::vector<double> bias = {-1, -0.75};
  writer.append({weight.data(), DType::bf16, {2, 4}});
  writer.append(Tensor::of(bias.data(), {2}));
  writer.commit();
  to.read(path_);
  expect_same(from, to);
}

TEST_F(Weights, AnotherSizeIsNamedWithTheOptionsThatHelp) {
  good(small_gpt());
  ModelConfig other = small_gpt(60);
  std::get<GptConfig>(other.dimensions).layers = 3;
  refuse(path_, other, {"layers 2, vocabulary 50", "layers 3, vocabulary 60", "give --layers 2 --vocab 50"});
  std::get<GptConfig>(other.dimensions).sequence = 8;
  refuse(path_, other, {"sequence 7", "sequence 8", "--seq 7"});

  good(model_config("gpt-nano"));
  refuse(path_, model_config("gpt-mini"),
         {"layers 4, width 256", "gpt-mini", "layers 8, width 512", "give --model gpt-nano"});
  good(small_mlp());
  refuse(path_, small_mlp({6, 4, 3}), {"an MLP of 6,5,3", "6,4,3", "--mlp-sizes 6,5,3"});
}

TEST_F(Weights, TheConfigOfAFolderTellsHeadsAndArchitecture) {
  Net net(small_gpt());
  const std::string path = folder_.path("gpt"), config_path = path + "/config.json";
  net.write(path);
  const std::string config = content(config_path);
  WeightsFile(path, small_gpt());
  ModelConfig other = small_gpt();
  std::get<GptConfig>(other.dimensions).heads = 4;
  refuse(path, other, {"heads 3", "heads 4", "--heads 3"});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = config;
    changed.replace(changed.find(from), from.size(), to);
    std::ofstream(config_path) << changed;
  };
  with("\"gelu_new\"", "\"relu\"");
  refuse(path, small_gpt(), {"config.json", "activation_function is \"relu\"", "gelu_new"});
  with("1e-05", "1e-06");
  refuse(path, small_gpt(), {"layer_norm_epsilon is 1e-06"});
  with("\"gpt2\"", "\"llama\"");
  refuse(path, small_gpt(), {"model_type is \"llama\""});
  std::ofstream(config_path) << "{";
  refuse(path, small_gpt(), {"config.json", "not JSON"});
  std::filesystem::remove(config_path);
  WeightsFile(path, other);  // nobody tells
}

TEST_F(Weights, MissingAndSurplusTensorsAreNamed) {
  Draft draft(good(small_gpt()));
  draft.erase("transformer.h.1.ln_2.bias");
  draft.erase("transformer.ln_f.weight");
  draft.add("transformer.h.0.attn.q_norm.weight", DType::f32, {4});
  draft.write(path_);
  refuse(
      path_, small_gpt(),
      {"lacks h.1.ln_2.bias, ln_f.weight;", "holds h.0.attn.q_norm.weight, which the model does not have"});
  good(small_mlp());
  refuse(path_, small_gpt(), {"lacks wte.weight, wpe.weight", "16 more", "holds layers.0.bias"});
  good(small_gpt());
  refuse(path_, small_mlp(), {"lacks layers.0.weight", "transformer.h.0.attn.c_attn.bias"});
}

TEST_F(Weights, WrongShapesTypesAndHeadsAreNamed) {
  Draft shape(good(small_gpt()));
  shape.reshape("transformer.h.1.mlp.c_fc.weight", {48, 12});
  shape.write(path_);
  refuse(path_, small_gpt(), {"h.1.mlp.c_fc.weight is [48, 12], not [12, 48]"});

  Draft type(good(small_gpt()));
  type.add("transformer.ln_f.bias", DType::i32, {12});
  type.write(path_);
  refuse(path_, small_gpt(), {"ln_f.bias is of type I32"});

  Draft head(good(small_gpt()));
  head.copy("transformer.wte.weight", "lm_head.weight");
  head.bytes("lm_head.weight")[100] ^= 1;
  head.write(path_);
  refuse(path_, small_gpt(), {"lm_head.weight is not wte.weight"});

  Draft twice(good(small_gpt()));
  twice.copy("transformer.ln_f.bias", "ln_f.bias");
  twice.write(path_);
  refuse(path_, small_gpt(), {"holds ln_f.bias twice"});
}

TEST_F(Weights, FoldersWithoutTheFileAreRefused) {
  refuse(folder_.path(), small_gpt(), {"holds no model.safetensors"});
  folder_.write("model.safetensors.index.json", "{}");
  refuse(folder_.path(), small_gpt(), {"several files"});
  refuse(folder_.path("missing"), small_gpt(), {"No such file"});
}

TEST_F(Weights, ExportIsPreparedOrRefused) {
  prepare_export(folder_.path("new/folder"));
  EXPECT_TRUE(std::filesystem::is_directory(folder_.path("new/folder")));
  prepare_export(folder_.path("other/file.safetensors"));
  EXPECT_TRUE(std::filesystem::is_directory(folder_.path("other")));
  prepare_export("file.safetensors");
  folder_.write("file", "");
  std::filesystem::create_directory(folder_.path("folder.safetensors"));
  for (const std::string& path :
       std::vector<std::string>{folder_.path("file"), folder_.path("file/x.safetensors"),
                                folder_.path("folder.safetensors"), "/proc/nowhere"})
    try {
      prepare_export(path);
      ADD_FAILURE() << path;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).find("--export " + path + ": cannot be written"), 0u)
          << error.what();
    }
}

}  // namespace
}  // namespace tandem

#include "models/weights/llmc_checkpoint.h"

#include <array>
#include <cstring>
#include <fstream>

namespace tandem {

namespace {

constexpr std::int32_t kMagic = 20240326;
constexpr std::int32_t kFp32 = 3, kBf16 = 5;

struct Header {
  std::int32_t magic = 0, version = 0, sequence = 0, vocabulary = 0, layers = 0, heads = 0, width = 0,
               padded_vocabulary = 0;
  std::array<std::int32_t, 248> unused{};
};
static_assert(sizeof(Header) == 1024);

Header read_header(const MappedFile& file) {
  Header header;
  if (file.bytes().size() < sizeof header)
    throw DataError("{}: {} bytes are no whole header of an llm.c checkpoint: it is truncated", file.path(),
                    file.bytes().size());
  std::memcpy(&header, file.bytes().data(), sizeof header);
  if (header.version != kFp32 && header.version != kBf16)
    throw DataError("{}: is an llm.c checkpoint of version {}: versions {} (fp32) and {} (bf16) are read",
                    file.path(), header.version, kFp32, kBf16);
  const auto between = [&](const char* what, std::int32_t value, std::int32_t most) {
    if (value < 1 || value > most)
      throw DataError("{}: is an llm.c checkpoint whose {} is {}: it is damaged", file.path(), what, value);
  };
  between("sequence", header.sequence, 1 << 20);  // as models/presets.cpp has them
  between("vocabulary", header.vocabulary, 1 << 24);
  between("number of layers", header.layers, 1000);
  between("number of heads", header.heads, 1 << 17);
  between("width", header.width, 1 << 17);
  between("padded vocabulary", header.padded_vocabulary, 1 << 25);
  if (header.padded_vocabulary < header.vocabulary)
    throw DataError("{}: is an llm.c checkpoint whose vocabulary of {} is padded to {}: it is damaged",
                    file.path(), header.vocabulary, header.padded_vocabulary);
  return header;
}

/// Takes tensors off the file, one after the other.
class Values {
 public:
  Values(const MappedFile& file, DType dtype)
      : file_(file), dtype_(dtype), rest_(file.bytes().subspan(sizeof(Header))) {}

  void take(StoredWeights& to, const std::string& name, Shape shape) {
    const auto bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype_);
    if (bytes > rest_.size()) throw DataError("{}: ends within {}: it is truncated", file_.path(), name);
    to.tensors.push_back({name, dtype_ == DType::f32 ? "F32" : "BF16", dtype_, shape, rest_.first(bytes)});
    rest_ = rest_.subspan(bytes);
  }

  void expect_end() const {
    if (!rest_.empty())
      throw DataError("{}: {} bytes follow its last parameter: it is damaged", file_.path(), rest_.size());
  }

 private:
  const MappedFile& file_;
  DType dtype_;
  std::span<const std::uint8_t> rest_;
};

/// The rows of a table that are tokens; those that pad it lie behind them.
void cut_padding(StoredTensor& table, std::int64_t vocabulary) {
  table.shape = {vocabulary, table.shape.last()};
  table.bytes = table.bytes.first(static_cast<std::size_t>(table.shape.numel()) * size_of(*table.dtype));
}

}  // namespace

bool is_llmc_checkpoint(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::int32_t magic = 0;
  file.read(reinterpret_cast<char*>(&magic), sizeof magic);
  return file && magic == kMagic;
}

StoredWeights open_llmc_checkpoint(const std::string& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  const Header h = read_header(*file);
  const std::int64_t c = h.width;
  const DType dtype = h.version == kFp32 ? DType::f32 : DType::bf16;
  StoredWeights weights{
      .path = path, .format = "llm.c checkpoint", .heads = h.heads, .tensors = {}, .file = file};

  Values values(*file, dtype);
  values.take(weights, "wte.weight", {h.padded_vocabulary, c});
  cut_padding(weights.tensors.back(), h.vocabulary);
  values.take(weights, "wpe.weight", {h.sequence, c});
  const std::vector<std::pair<std::string, Shape>> kinds = {{"ln_1.weight", {c}},
                                                            {"ln_1.bias", {c}},
                                                            {"attn.c_attn.weight", {3 * c, c}},
                                                            {"attn.c_attn.bias", {3 * c}},
                                                            {"attn.c_proj.weight", {c, c}},
                                                            {"attn.c_proj.bias", {c}},
                                                            {"ln_2.weight", {c}},
                                                            {"ln_2.bias", {c}},
                                                            {"mlp.c_fc.weight", {4 * c, c}},
                                                            {"mlp.c_fc.bias", {4 * c}},
                                                            {"mlp.c_proj.weight", {c, 4 * c}},
                                                            {"mlp.c_proj.bias", {c}}};
  for (const auto& [kind, shape] : kinds)
    for (int layer = 0; layer < h.layers; ++layer)
      values.take(weights, fmt::format("h.{}.{}", layer, kind), shape);
  values.take(weights, "ln_f.weight", {c});
  values.take(weights, "ln_f.bias", {c});
  values.expect_end();
  return weights;
}

}  // namespace tandem

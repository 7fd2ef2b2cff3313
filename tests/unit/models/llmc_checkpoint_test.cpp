#include "models/weights/llmc_checkpoint.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

constexpr std::int32_t kSequence = 6, kVocabulary = 10, kLayers = 3, kHeads = 2, kWidth = 4, kPadded = 16;

std::vector<std::int32_t> header(std::int32_t version) {
  std::vector<std::int32_t> h(256);
  const std::int32_t start[] = {20240326, version, kSequence, kVocabulary, kLayers, kHeads, kWidth, kPadded};
  std::copy(std::begin(start), std::end(start), h.begin());
  return h;
}

constexpr int kValues = kPadded * kWidth + kSequence * kWidth +
                        kLayers * (4 * kWidth + 12 * kWidth * kWidth + 9 * kWidth) + 2 * kWidth;

/// Value i is i; in bf16 only those up to 256 are, so i mod 256.
std::string file(std::int32_t version) {
  std::string content = bytes_of(header(version));
  for (int i = 0; i < kValues; ++i) {
    const auto value = static_cast<float>(version == 3 ? i : i % 256);
    char bits[4];
    std::memcpy(bits, &value, 4);
    content.append(version == 3 ? bits : bits + 2, version == 3 ? 4 : 2);
  }
  return content;
}

class LlmcCheckpoint : public testing::Test {
 protected:
  void refuse(const std::string& content, const std::string& expected) {
    const std::string path = folder_.write("bad.bin", content);
    ASSERT_TRUE(is_llmc_checkpoint(path));
    try {
      open_llmc_checkpoint(path);
      FAIL() << "was taken; expected: " << expected;
    } catch (const DataError& error) {
      EXPECT_EQ(std::string(error.what()).find(path), 0u) << error.what();
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  }

  const TempFolder folder_;
};

TEST_F(LlmcCheckpoint, ValuesLieKindByKindAndLayerByLayer) {
  for (const int version : {3, 5}) {
    const StoredWeights weights = open_llmc_checkpoint(folder_.write("model.bin", file(version)));
    EXPECT_EQ(weights.heads, kHeads);
    EXPECT_EQ(weights.order, MatrixOrder::out_in);
    ASSERT_EQ(weights.tensors.size(), 2u + 12 * kLayers + 2);
    const auto expect = [&](const std::string& name, Shape shape, int first) {
      for (const StoredTensor& tensor : weights.tensors) {
        if (tensor.name != name) continue;
        EXPECT_EQ(tensor.shape, shape) << name;
        std::vector<float> values(static_cast<std::size_t>(shape.numel()));
        read_floats(tensor, 0, values);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const int expected = first + static_cast<int>(i);
          EXPECT_EQ(values[i], static_cast<float>(version == 3 ? expected : expected % 256))
              << name << " " << i;
        }
        return;
      }
      ADD_FAILURE() << "no " << name;
    };
    const int c = kWidth, l = kLayers, blocks = kPadded * c + kSequence * c;
    expect("wte.weight", {kVocabulary, c}, 0);
    expect("wpe.weight", {kSequence, c}, kPadded * c);
    expect("h.2.ln_1.weight", {c}, blocks + 2 * c);
    expect("h.0.ln_1.bias", {c}, blocks + l * c);
    expect("h.1.attn.c_attn.weight", {3 * c, c}, blocks + 2 * l * c + 3 * c * c);
    expect("h.1.mlp.c_fc.weight", {4 * c, c},
           blocks + l * (2 * c + 3 * c * c + 3 * c + c * c + c + 2 * c) + 4 * c * c);
    expect("h.2.mlp.c_proj.bias", {c}, kValues - 3 * c);
    expect("ln_f.bias", {c}, kValues - c);
  }
}

TEST_F(LlmcCheckpoint, AnythingElseIsNotTakenForOne) {
  EXPECT_FALSE(is_llmc_checkpoint(folder_.write("x", "xyz")));
  EXPECT_FALSE(is_llmc_checkpoint(folder_.write("x", std::string(1024, '\1'))));
  EXPECT_FALSE(is_llmc_checkpoint(folder_.path("missing")));
}

TEST_F(LlmcCheckpoint, DamagedOnesAreRefused) {
  const std::string good = file(3);
  refuse(good.substr(0, 600), "truncated");
  refuse(good.substr(0, 1024), "ends within wte.weight: it is truncated");
  refuse(good.substr(0, good.size() - 1), "ends within ln_f.bias: it is truncated");
  refuse(good + "x", "1 bytes follow its last parameter");
  const auto with = [&](std::size_t index, std::int32_t value) {
    std::string content = good;
    std::memcpy(content.data() + 4 * index, &value, 4);
    return content;
  };
  refuse(with(1, 2), "version 2: versions 3 (fp32) and 5 (bf16)");
  refuse(with(2, 0), "sequence is 0");
  refuse(with(3, -1), "vocabulary is -1");
  refuse(with(3, 17), "vocabulary of 17 is padded to 16");
  refuse(with(4, 2000000000), "layers is 2000000000");
  refuse(with(5, 0), "heads is 0");
  refuse(with(6, 2000000000), "width is 2000000000");
  refuse(with(7, 2000000000), "padded vocabulary is 2000000000");
  refuse(with(4, 900), "truncated");
}

}  // namespace
}  // namespace tandem

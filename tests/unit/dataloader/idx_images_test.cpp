#include "dataloader/idx_images.h"

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dataloader/data_spec.h"
#include "tests/unit/dataloader/expect_message.h"
#include "tests/unit/dataloader/fetch_sample.h"
#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

// An idx file: magic and dimensions big-endian, then the bytes.
std::string idx(std::uint32_t magic, const std::vector<std::uint32_t>& dims, const std::string& values) {
  std::string file;
  const auto put = [&](std::uint32_t word) {
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(word >> shift & 0xFF);
  };
  put(magic);
  for (const std::uint32_t dim : dims) put(dim);
  return file + values;
}

std::string random_bytes(std::size_t n, unsigned limit = 256) {
  std::random_device fresh;
  std::mt19937 random(fresh());
  std::string bytes(n, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() % limit);
  return bytes;
}

// A folder of 20 training and 6 test images of 3 × 5 in 10 classes; tests overwrite files of it.
class Idx : public testing::Test {
 protected:
  Idx() {
    folder.write("train-images-idx3-ubyte", images());
    folder.write("train-labels-idx1-ubyte.gz", gzipped(labels()));
    folder.write("t10k-images-idx3-ubyte.gz", gzipped(idx(0x803, {6, 3, 5}, random_bytes(90))));
    folder.write("t10k-labels-idx1-ubyte", idx(0x801, {6}, random_bytes(6, 10)));
  }
  std::string images() const { return idx(0x803, {20, 3, 5}, pixels); }
  std::string labels() const { return idx(0x801, {20}, classes); }

  DataSets open(std::int64_t features = 15, std::int64_t n_classes = 10) const {
    return open_data(DataSpec::parse("idx:" + folder.path()), std::nullopt,
                     {.kind = ModelInput::Kind::features, .features = features, .classes = n_classes});
  }
  void refuse(const std::vector<std::string>& parts) const {
    expect_message<DataError>([&] { open(); }, parts);
  }
  void write_images(const std::string& content) const { folder.write("train-images-idx3-ubyte", content); }
  void write_labels(const std::string& content) const { folder.write("train-labels-idx1-ubyte.gz", content); }

  TempFolder folder;
  std::string pixels = random_bytes(300), classes = random_bytes(20, 10);
};

TEST_F(Idx, ReadsPlainAndGzip) {
  const auto sets = open();
  ASSERT_EQ(sets.train->size(), 20);
  for (std::int64_t i = 0; i < 20; ++i) {
    const auto sample = fetch_sample<float>(*sets.train, i);
    ASSERT_EQ(sample.input.size(), 15u);
    for (std::size_t p = 0; p < 15; ++p)
      EXPECT_EQ(
          sample.input[p],
          static_cast<float>(static_cast<unsigned char>(pixels[static_cast<std::size_t>(i) * 15 + p])) / 255);
    EXPECT_EQ(sample.target, std::vector<std::int32_t>{classes[static_cast<std::size_t>(i)]});
  }
  ASSERT_NE(sets.validation, nullptr);
  EXPECT_EQ(sets.validation->size(), 6);
  EXPECT_NE(sets.train->describe().find("20 samples of 3 x 5 values, 10 classes"), std::string::npos);
}

TEST_F(Idx, WithoutTestFilesHasNoValidation) {
  std::filesystem::remove(folder.path("t10k-images-idx3-ubyte.gz"));
  refuse({"t10k-images-idx3-ubyte"});  // half of them is a mistake
  std::filesystem::remove(folder.path("t10k-labels-idx1-ubyte"));
  EXPECT_EQ(open().validation, nullptr);
}

TEST_F(Idx, RefusesMissingFiles) {
  std::filesystem::remove(folder.path("train-labels-idx1-ubyte.gz"));
  refuse({folder.path(), "neither train-labels-idx1-ubyte nor train-labels-idx1-ubyte.gz"});
  const ModelInput model{.kind = ModelInput::Kind::features, .features = 15, .classes = 10};
  expect_message<DataError>(
      [&] { open_data(DataSpec::parse("idx:" + folder.path("none")), std::nullopt, model); },
      {folder.path("none"), "no such folder"});
  expect_message<DataError>(
      [&] { open_data(DataSpec::parse("idx:" + folder.write("f", "x")), std::nullopt, model); },
      {"is not a folder"});
}

TEST_F(Idx, RefusesAFolderInAFilesPlace) {
  std::filesystem::remove(folder.path("train-images-idx3-ubyte"));
  std::filesystem::create_directory(folder.path("train-images-idx3-ubyte"));
  refuse({"train-images-idx3-ubyte: is a folder"});
}

TEST_F(Idx, RefusesEmptyTruncatedAndOverlongFiles) {
  write_images("");
  refuse({"train-images-idx3-ubyte: is empty"});
  write_images(images().substr(0, 10));
  refuse({"train-images-idx3-ubyte: 10 bytes are less than an idx header"});
  write_images(images().substr(0, 3));
  refuse({"3 bytes are less than an idx header"});
  write_images(images().substr(0, 315));
  refuse({"promises 20 x 3 x 5 bytes", "has 299", "truncated"});
  write_images(images() + "x");
  refuse({"promises 20 x 3 x 5 bytes", "has 301"});
  write_images(idx(0x803, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, pixels));
  refuse({"promises 4294967295 x 4294967295 x 4294967295 bytes"});
  write_images(idx(0x803, {0, 3, 5}, ""));
  write_labels(idx(0x801, {0}, ""));
  refuse({"holds no images"});
}

TEST_F(Idx, RefusesMislabelledAndForeignFiles) {
  write_labels(gzipped(images()));
  refuse({"train-labels-idx1-ubyte.gz", "holds idx images where idx labels are expected"});
  write_labels(gzipped(labels()));
  write_images(labels());
  refuse({"train-images-idx3-ubyte", "holds idx labels where idx images are expected"});
  write_images("\x89PNG and so on and so forth");
  refuse({"holds a foreign file (magic 0x89504e47)"});
  write_images(idx(0x0D03, {20, 3, 5}, random_bytes(1200)));  // floats
  refuse({"foreign file (magic 0x00000d03)"});
}

TEST_F(Idx, RefusesDamagedGzip) {
  const std::string whole = gzipped(labels());
  for (const std::size_t size : {5ul, whole.size() / 2, whole.size() - 6, whole.size() - 1}) {
    write_labels(whole.substr(0, size));
    refuse({"train-labels-idx1-ubyte.gz", "ends too early"});
  }
  std::string corrupt = whole;
  corrupt[corrupt.size() - 7] ^= 0x55;  // the checksum
  write_labels(corrupt);
  refuse({"train-labels-idx1-ubyte.gz", "corrupt"});
  corrupt = whole;
  corrupt[10] = '\x07';  // a block of the reserved type
  write_labels(corrupt);
  refuse({"corrupt"});
  write_labels(labels());  // plain under the name of .gz: some tools unpack and keep the name
  EXPECT_EQ(open().train->size(), 20);
}

TEST_F(Idx, RefusesFilesThatDoNotBelongTogether) {
  write_labels(idx(0x801, {19}, classes.substr(1)));
  refuse({"20 images", "19 labels", "do not belong together"});
}

TEST_F(Idx, RefusesWhatTheModelCannotTake) {
  classes[13] = 11;
  classes[15] = 17;
  write_labels(labels());
  refuse({"train-labels-idx1-ubyte.gz", "label 11 of sample 13", "10 classes", "at least 18"});
  EXPECT_NO_THROW(open(15, 18));
  expect_message<DataError>([&] { open(784, 18); },
                            {"15 values", "the model takes 784", "--mlp-sizes begin with 15"});
}

TEST(FashionMnist, IsReadWhereItIsInstalled) {
  const std::string folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "Debian's dataset-fashion-mnist is not installed";
  const auto sets = open_data(DataSpec::parse("idx:" + folder), std::nullopt,
                              {.kind = ModelInput::Kind::features, .features = 784, .classes = 10});
  EXPECT_EQ(sets.train->size(), 60000);
  EXPECT_EQ(sets.validation->size(), 10000);
  EXPECT_EQ(fetch_sample<float>(*sets.train, 0).target[0], 9);  // an ankle boot
}

}  // namespace
}  // namespace tandem

// Damaged, foreign and malicious files: each is refused with a message that names the file and the fault.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/philox.h"
#include "core/checkpoint/safetensors_file.h"
#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

std::string length_bytes(std::uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes;
}

std::string file_of(const std::string& header, std::size_t data_bytes) {
  return length_bytes(header.size()) + header + std::string(data_bytes, 'x');
}

std::string entry(const std::string& name, const std::string& type, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
         "}";
}

class SafetensorsErrors : public testing::Test {
 protected:
  void refuse(const std::string& content, const std::vector<std::string>& expected) {
    const std::string path = folder_.write("bad.safetensors", content);
    try {
      const SafetensorsFile file(path);
      FAIL() << "was read: " << content.substr(0, 200);
    } catch (const DataError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find(path), 0u) << message;
      for (const std::string& part : expected) EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }

  const TempFolder folder_;
};

TEST_F(SafetensorsErrors, TheHeader) {
  const std::string good = "{" + entry("a", "F32", "[2]", "[0,8]") + "}";
  EXPECT_EQ(SafetensorsFile(folder_.write("good", file_of(good + "   ", 8))).tensors().size(), 1u);
  refuse("", {"0 bytes"});
  refuse("1234567", {"7 bytes", "truncated"});
  refuse(file_of(good, 8).substr(0, 20), {"header would take", "12 follow", "truncated"});
  refuse(length_bytes(~std::uint64_t{0}) + good, {"18446744073709551615"});
  refuse(length_bytes(std::uint64_t{1} << 63) + good, {"header would take"});
  refuse(file_of("", 0), {"not JSON"});
  refuse(file_of("not json", 0), {"not JSON"});
  refuse(file_of("{\"a\":", 0), {"not JSON"});
  refuse(file_of("{\"\xff\":1}", 0), {"not JSON"});
  refuse(file_of("[]", 0), {"no JSON object"});
  refuse(file_of(std::string(100000, '['), 0), {"not JSON"});
  refuse(file_of("{\"__metadata__\":{\"format\":1}}", 0), {"__metadata__"});
  refuse(file_of("{\"__metadata__\":[]}", 0), {"__metadata__"});
}

TEST_F(SafetensorsErrors, OneTensor) {
  const auto one = [](const std::string& e) { return file_of("{" + e + "}", 8); };
  for (const auto& [content, expected] : std::vector<std::pair<std::string, std::string>>{
           {one(entry("a", "F31", "[2]", "[0,8]")), "unknown type \"F31\""},
           {one(entry("a", "", "[2]", "[0,8]")), "unknown type"},
           {one("\"a\":{\"dtype\":1,\"shape\":[2],\"data_offsets\":[0,8]}"), "unknown type 1"},
           {one("\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}"), "has no dtype"},
           {one("\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}"), "has no shape"},
           {one("\"a\":{\"dtype\":\"F32\",\"shape\":[2]}"), "has no data_offsets"},
           {one("\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"crc\":1}"),
            "unknown property 'crc'"},
           {one("\"a\":[]"), "no JSON object"},
           {one(entry("a", "F32", "[-2]", "[0,8]")), "shape are [-2], not whole numbers"},
           {one(entry("a", "F32", "[2.0]", "[0,8]")), "not whole numbers"},
           {one(entry("a", "F32", "[\"2\"]", "[0,8]")), "not whole numbers"},
           {one(entry("a", "F32", "2", "[0,8]")), "not whole numbers"},
           {one(entry("a", "F32", "[18446744073709551615]", "[0,8]")), "not whole numbers"},
           {one(entry("a", "F32", "[1,1,1,1,2]", "[0,8]")), "5 dimensions"},
           {one(entry("a", "F32", "[4294967296,4294967296,4294967296]", "[0,8]")), "absurdly large"},
           {one(entry("a", "F32", "[4611686018427387904]", "[0,8]")), "do not take 8 bytes"},
           {one(entry("a", "F32", "[3]", "[0,8]")), "[3] F32 do not take 8 bytes"},
           {one(entry("a", "F32", "[2]", "[8,0]")), "ends at 0 before it begins at 8"},
           {one(entry("a", "F32", "[2]", "[0,16]")),
            "ends at byte 16 of the data, but the file has 8: it is truncated"},
           {one(entry("a", "F32", "[2]", "[0]")), "1 data_offsets"},
           {one(entry("a", "F32", "[2]", "[0,-8]")), "not whole numbers"}})
    refuse(content, {"tensor 'a'", expected});
}

TEST_F(SafetensorsErrors, TensorsTogether) {
  const auto two = [](const std::string& a, const std::string& b, std::size_t bytes) {
    return file_of("{" + entry("a", "F32", "[2]", a) + "," + entry("b", "F32", "[2]", b) + "}", bytes);
  };
  EXPECT_EQ(SafetensorsFile(folder_.write("good", two("[8,16]", "[0,8]", 16))).tensors().front().name, "b");
  refuse(two("[0,8]", "[4,12]", 12), {"'a' and 'b' overlap"});
  refuse(two("[0,8]", "[0,8]", 8), {"'a' and 'b' overlap"});
  refuse(two("[0,8]", "[12,20]", 20), {"4 bytes before tensor 'b' belong to none"});
  refuse(two("[0,8]", "[8,16]", 17), {"1 bytes at its end belong to no tensor"});
  const std::string a = entry("a", "F32", "[2]", "[0,8]");
  refuse(file_of("{" + a + "," + a + "}", 8), {"names 'a' twice"});
  refuse(file_of("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8),
         {"names 'dtype' twice"});
}

TEST_F(SafetensorsErrors, MissingFilesAndFolders) {
  EXPECT_THROW(SafetensorsFile(folder_.path("missing")), DataError);
  EXPECT_THROW(SafetensorsFile(folder_.path()), DataError);
}

/// Whatever happens to a header, the file is refused or its tensors are its data.
TEST_F(SafetensorsErrors, HeadersWithRandomBytesAreRefusedOrWhole) {
  const std::string header = "{\"__metadata__\":{\"format\":\"pt\"}," + entry("a", "F32", "[2,3]", "[0,24]") +
                             "," + entry("b", "BF16", "[4]", "[24,32]") + "}";
  const std::string good = file_of(header, 32);
  Philox random(20261201);
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string content = good;
    for (std::uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
      const char digits[] = "0123456789,[]{}\":-e";
      char& byte = content[random() % (8 + header.size())];
      byte = random() % 2 ? static_cast<char>(random()) : digits[random() % (sizeof digits - 1)];
    }
    if (random() % 4 == 0) content.resize(random() % content.size());
    const std::string path = folder_.write("fuzz", content);
    try {
      const SafetensorsFile file(path);
      std::size_t bytes = 0;
      for (const StoredTensor& tensor : file.tensors()) bytes += tensor.bytes.size();
      std::uint64_t length = 0;
      std::memcpy(&length, content.data(), 8);
      EXPECT_EQ(8 + length + bytes, content.size());
    } catch (const DataError& error) {
      ++refused;
      EXPECT_EQ(std::string(error.what()).find(path), 0u) << error.what();
    }
  }
  EXPECT_GT(refused, 700);
  EXPECT_LT(refused, 1000);  // a change within a name does no harm
}

}  // namespace
}  // namespace tandem

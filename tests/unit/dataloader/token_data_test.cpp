// Token files, raw tokens, text: what is read, and what is refused.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "dataloader/data_spec.h"
#include "dataloader/token_files.h"
#include "dataloader/token_windows.h"
#include "tests/unit/dataloader/expect_message.h"
#include "tests/unit/dataloader/fetch_sample.h"
#include "tests/unit/dataloader/temp_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint16_t> random_tokens(std::size_t n, int vocabulary) {
  std::random_device fresh;
  std::mt19937 random(fresh());
  std::vector<std::uint16_t> tokens(n);
  for (auto& token : tokens) token = static_cast<std::uint16_t>(random() % static_cast<unsigned>(vocabulary));
  return tokens;
}

// An llm.c file, with whatever the header is to say.
std::string shard(const std::vector<std::uint16_t>& tokens, std::int32_t magic = 20240520,
                  std::int32_t version = 1, std::int64_t count = -1) {
  std::vector<std::int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = static_cast<std::int32_t>(count < 0 ? static_cast<std::int64_t>(tokens.size()) : count);
  return bytes_of(header) + bytes_of(tokens);
}

DataSets open(const std::string& spec, std::int64_t sequence, std::int64_t vocabulary) {
  return open_data(DataSpec::parse(spec), std::nullopt,
                   {.kind = ModelInput::Kind::tokens, .sequence = sequence, .classes = vocabulary});
}

// Sample w must be tokens [w·T, w·T + T] of `tokens`.
void expect_windows(const Dataset& data, std::int64_t first_window, const std::vector<std::int32_t>& tokens,
                    std::int64_t sequence) {
  const auto windows = (static_cast<std::int64_t>(tokens.size()) - 1) / sequence;
  for (std::int64_t w = 0; w < windows; ++w) {
    const auto sample = fetch_sample<std::int32_t>(data, first_window + w);
    const auto from = tokens.begin() + w * sequence;
    EXPECT_EQ(sample.input, std::vector<std::int32_t>(from, from + sequence)) << "window " << w;
    EXPECT_EQ(sample.target, std::vector<std::int32_t>(from + 1, from + sequence + 1)) << "window " << w;
  }
}

template <class T>
std::vector<std::int32_t> widened(const T& ids) {
  std::vector<std::int32_t> wide;
  for (const auto id : ids) wide.push_back(static_cast<std::make_unsigned_t<decltype(+id)>>(id) & 0xFFFF);
  return wide;
}

std::vector<std::int32_t> bytes_as_ids(const std::string& text) {
  std::vector<std::int32_t> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

TEST(RawTokens, WindowsAtStrideT) {
  const TempFolder folder;
  for (const std::size_t n : {9u, 16u, 17u, 18u, 100u}) {
    const auto tokens = random_tokens(n, 65536);
    const auto sets = open("tokens-raw:" + folder.write("train.bin", bytes_of(tokens)), 8, 65536);
    EXPECT_EQ(sets.train->size(), (static_cast<std::int64_t>(n) - 1) / 8);
    EXPECT_EQ(sets.validation, nullptr);
    expect_windows(*sets.train, 0, widened(tokens), 8);
  }
}

TEST(TokenShards, WindowsDoNotCrossShards) {
  const TempFolder folder;
  const auto a = random_tokens(30, 50257), b = random_tokens(5, 50257), c = random_tokens(17, 50257);
  folder.write("part_2.bin", shard(c));
  folder.write("part_0.bin", shard(a));
  folder.write("part_1.bin", shard(b));  // too short for a window
  folder.write("other.txt", "not part of the glob");
  const auto sets = open("tokens:" + folder.path("part_*.bin"), 8, 50257);
  EXPECT_EQ(sets.train->size(), 3 + 0 + 2);
  expect_windows(*sets.train, 0, widened(a), 8);
  expect_windows(*sets.train, 3, widened(c), 8);
}

TEST(TokenShards, OneFileByItsPathEvenWithBracketsInIt) {
  const TempFolder folder;
  const auto tokens = random_tokens(20, 100);
  const auto sets = open("tokens:" + folder.write("a[1].bin", shard(tokens)), 8, 100);
  expect_windows(*sets.train, 0, widened(tokens), 8);
}

TEST(TokenShards, RefusesWhatIsNotWhole) {
  const TempFolder folder;
  const auto tokens = random_tokens(100, 50000);
  const auto refuse = [&](const std::string& content, const std::vector<std::string>& parts) {
    const std::string path = folder.write("x.bin", content);
    auto all = parts;
    all.push_back(path);
    expect_message<DataError>([&] { open("tokens:" + path, 8, 50257); }, all);
  };
  refuse("", {"is empty"});
  refuse("x", {"does not start as an llm.c token file", "magic 20240520, not 0", "tokens-raw:PATH"});
  refuse(std::string(5000, 'x'), {"does not start as an llm.c token file", "text:PATH"});
  refuse(shard(tokens, 20240520, 2), {"version 2", "only version 1"});
  refuse(shard(tokens, 20240801, 1), {"not 20240801"});
  refuse(shard(tokens, 20240520, 1, 101), {"counts 101 tokens", "1226 bytes", "has 1224", "truncated"});
  refuse(shard(tokens, 20240520, 1, 99), {"counts 99 tokens", "damaged"});
  refuse(shard(tokens, 20240520, 1, 0xFFFFFFFFll), {"counts -1 tokens", "damaged"});
  refuse(shard(tokens).substr(0, 700), {"truncated"});
  refuse(shard(tokens).substr(0, 8), {"counts 0 tokens", "truncated"});
  refuse(shard({}), {"0 tokens do not make one window"});
  refuse(shard(random_tokens(8, 10)), {"8 tokens do not make one window of --seq 8 (which reads 9)"});
}

TEST(TokenShards, RefusesPathsThatAreNoFiles) {
  const TempFolder folder;
  fs::create_directory(folder.path("sub.bin"));
  expect_message<DataError>([&] { open("tokens:" + folder.path("*.none"), 8, 256); },
                            {folder.path("*.none"), "no file matches"});
  expect_message<DataError>([&] { open("tokens:" + folder.path("*.bin"), 8, 256); },
                            {folder.path("sub.bin"), "is a folder"});
  expect_message<DataError>([&] { open("tokens:" + folder.path("none.bin"), 8, 256); }, {"no file matches"});
}

TEST(RawTokens, RefusesWhatIsNotRawTokens) {
  const TempFolder folder;
  expect_message<DataError>([&] { open("tokens-raw:" + folder.path("none"), 8, 256); },
                            {folder.path("none"), "No such file"});
  expect_message<DataError>([&] { open("tokens-raw:" + folder.path(), 8, 256); }, {"is a folder"});
  expect_message<DataError>([&] { open("tokens-raw:" + folder.write("e", ""), 8, 256); }, {"is empty"});
  expect_message<DataError>([&] { open("tokens-raw:" + folder.write("o", std::string(99, 'x')), 8, 65536); },
                            {"99 bytes are not a whole number of uint16 tokens"});
  const std::string llmc = folder.write("l", shard(random_tokens(100, 256)));
  expect_message<DataError>([&] { open("tokens-raw:" + llmc, 8, 65536); },
                            {"is an llm.c token file", "tokens:" + llmc});
}

TEST(RawTokens, RefusesAPipeWithoutWaitingForIt) {
  const TempFolder folder;
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  expect_message<DataError>([&] { open("tokens-raw:" + folder.path("pipe"), 8, 256); },
                            {"is not a regular file"});
}

TEST(RawTokens, RefusesAnUnreadableFile) {
  if (geteuid() == 0) GTEST_SKIP() << "the superuser reads every file";
  const TempFolder folder;
  const std::string path = folder.write("secret", "0123456789");
  fs::permissions(path, fs::perms::none);
  expect_message<DataError>([&] { open("tokens-raw:" + path, 2, 65536); },
                            {path, "cannot be opened", "Permission denied"});
}

TEST(TokenIds, BeyondTheVocabularyAreFoundAtOnceInSmallFiles) {
  const TempFolder folder;
  auto tokens = random_tokens(1000, 500);
  tokens[776] = 500;
  const std::string raw = folder.write("raw.bin", bytes_of(tokens));
  const std::vector<std::string> parts{"token 776 has the id 500", "vocabulary has 500 ids (0 to 499)",
                                       "--vocab at least 501"};
  expect_message<DataError>([&] { open("tokens-raw:" + raw, 8, 500); }, parts);
  folder.write("s0.bin", shard(random_tokens(50, 500)));
  folder.write("s1.bin", shard(tokens));
  expect_message<DataError>([&] { open("tokens:" + folder.path("s?.bin"), 8, 500); }, parts);
  EXPECT_NO_THROW(open("tokens-raw:" + raw, 8, 501));
  expect_message<DataError>([&] { open("text:" + folder.write("t", std::string(50, 'z')), 8, 100); },
                            {"token 0 has the id 122"});
}

// Makes a file of `bytes` zeros that takes no space, with one token at `position`.
std::string sparse_file(const TempFolder& folder, std::int64_t bytes, std::int64_t position,
                        std::uint16_t token) {
  const std::string path = folder.path("sparse.bin");
  std::ofstream(path, std::ios::binary).close();
  fs::resize_file(path, static_cast<std::uintmax_t>(bytes));
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(2 * position);
  file.write(reinterpret_cast<const char*>(&token), sizeof token);
  return path;
}

std::int64_t resident_bytes() {
  std::int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(TokenIds, BeyondTheVocabularyAreFoundOnReadingInLargeFiles) {
  const TempFolder folder;
  const std::string path = sparse_file(folder, 300ll << 20, 20'000'003, 4242);
  const auto sets = open("tokens-raw:" + path, 100, 1000);
  fetch_sample<std::int32_t>(*sets.train, 0);
  expect_message<DataError>([&] { fetch_sample<std::int32_t>(*sets.train, 200'000); },
                            {path, "token 20000003 has the id 4242", "1000 ids"});
}

TEST(LargeFiles, CostNoMemory) {
  const TempFolder folder;
  const std::int64_t bytes = 100ll << 30;
  const std::int64_t before = resident_bytes();
  const auto sets = open("tokens-raw:" + sparse_file(folder, bytes, 50ll << 28, 7), 1024, 50257);
  EXPECT_EQ(sets.train->size(), (bytes / 2 - 1) / 1024);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i)
    fetch_sample<std::int32_t>(
        *sets.train, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(sets.train->size())));
  EXPECT_EQ(fetch_sample<std::int32_t>(*sets.train, (50ll << 28) / 1024).input[0], 7);
  EXPECT_LT(resident_bytes() - before, 100ll << 20);
}

TEST(LargeFiles, GiveBackWhatWasRead) {
  const TempFolder folder;
  const auto sets = open("tokens-raw:" + sparse_file(folder, 200ll << 20, 5, 7), 1024, 65536);
  const std::int64_t before = resident_bytes();
  // A step of 32 KiB touches every stretch of pages that one fault maps.
  for (std::int64_t i = 0; i < sets.train->size(); i += 16) fetch_sample<std::int32_t>(*sets.train, i);
  EXPECT_LT(resident_bytes() - before, 100ll << 20);
}

TEST(Text, IsItsBytesWithTheLastTenthHeldBack) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 1003; ++i) text += static_cast<char>(i * 37 % 251);
  const auto sets = open("text:" + folder.write("t.txt", text), 8, 256);
  ASSERT_NE(sets.validation, nullptr);
  // 902 = ⌊0.9 · 1003⌋ bytes train, 101 validate.
  EXPECT_EQ(sets.train->size(), 901 / 8);
  EXPECT_EQ(sets.validation->size(), 100 / 8);
  expect_windows(*sets.train, 0, bytes_as_ids(text.substr(0, 902)), 8);
  expect_windows(*sets.validation, 0, bytes_as_ids(text.substr(902)), 8);
}

TEST(Text, WithValidationDataOfItsOwnKeepsTheTenth) {
  const TempFolder folder;
  const auto train = DataSpec::parse("text:" + folder.write("t.txt", std::string(1001, 'a')));
  const auto validation = DataSpec::parse("text:" + folder.write("v.txt", std::string(81, 'b')));
  const auto sets =
      open_data(train, validation, {.kind = ModelInput::Kind::tokens, .sequence = 8, .classes = 256});
  EXPECT_EQ(sets.train->size(), 125);
  EXPECT_EQ(sets.validation->size(), 10);
  EXPECT_EQ(fetch_sample<std::int32_t>(*sets.validation, 9).target[7], 'b');
}

TEST(Text, TooSmallForATenthTrainsOnAllOfIt) {
  const TempFolder folder;
  const auto sets = open("text:" + folder.write("t.txt", std::string(33, 'a')), 8, 256);
  EXPECT_EQ(sets.train->size(), 4);
  EXPECT_EQ(sets.validation, nullptr);
}

TEST(Text, OfAFolderIsItsFilesInOrderWithoutLinks) {
  const TempFolder folder;
  folder.write("b", "second ");
  folder.write("a", "first ");
  folder.write("c", "");
  folder.write("d", "third and last, with enough for one window");
  fs::create_symlink(folder.path("b"), folder.path("aa"));
  fs::create_directory(folder.path("sub"));
  const std::string all = "first second third and last, with enough for one window";
  const auto stream = open_text(folder.path());
  ASSERT_EQ(stream.size(), static_cast<std::int64_t>(all.size()));
  std::vector<std::int32_t> ids(all.size());
  stream.read(0, stream.size(), 256, ids.data());
  EXPECT_EQ(ids, bytes_as_ids(all));
  for (std::int64_t first = 0; first < 20; ++first) {  // slices begin and end in any file
    const auto part = stream.slice(first, 10);
    std::vector<std::int32_t> ten(10);
    part.read(0, 10, 256, ten.data());
    EXPECT_EQ(ten, bytes_as_ids(all.substr(static_cast<std::size_t>(first), 10)));
  }
}

TEST(Text, RefusesWhatHoldsNone) {
  const TempFolder folder, linked;
  expect_message<DataError>([&] { open("text:" + folder.path(), 8, 256); },
                            {folder.path(), "no regular files"});
  fs::create_symlink("/etc/passwd", linked.path("link"));
  expect_message<DataError>([&] { open("text:" + linked.path(), 8, 256); }, {"no regular files"});
  expect_message<DataError>([&] { open("text:" + folder.write("e", ""), 8, 256); }, {"is empty"});
  expect_message<DataError>([&] { open("text:" + folder.path(), 8, 256); }, {"is empty"});
  expect_message<DataError>([&] { open("text:" + folder.path("none"), 8, 256); }, {"No such file"});
  expect_message<DataError>([&] { open("text:" + folder.write("s", "12345678"), 8, 256); },
                            {"8 tokens do not make one window of --seq 8"});
}

TEST(TokenWindows, RefuseAnIndexOutside) {
  const TempFolder folder;
  const auto sets = open("tokens-raw:" + folder.write("r", std::string(100, '\0')), 8, 10);
  EXPECT_THROW(fetch_sample<std::int32_t>(*sets.train, -1), ContractError);
  EXPECT_THROW(fetch_sample<std::int32_t>(*sets.train, sets.train->size()), ContractError);
}

}  // namespace
}  // namespace tandem

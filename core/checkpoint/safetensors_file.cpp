#include "core/checkpoint/safetensors_file.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/checkpoint/safetensors_type.h"

namespace tandem {

namespace {

using nlohmann::json;

constexpr std::uint64_t kMostHeader = 100'000'000;  // the reference implementation's limit, bytes

/// The file's header and what follows it, not yet looked into.
struct Parts {
  std::string_view header;
  std::span<const std::uint8_t> data;
};

Parts take_apart(const MappedFile& file) {
  const auto bytes = file.bytes();
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length)
    throw DataError("{}: {} bytes are too few for a safetensors file: it is truncated, or something else",
                    file.path(), bytes.size());
  std::memcpy(&length, bytes.data(), sizeof length);
  const auto rest = bytes.subspan(sizeof length);
  if (length > rest.size() || length > kMostHeader)
    throw DataError(
        "{}: its header would take {} bytes, but {} follow: it is truncated, or no safetensors file",
        file.path(), length, rest.size());
  return {{reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(length)},
          rest.subspan(static_cast<std::size_t>(length))};
}

/// JSON with no key twice in one object: which of the two would be meant?
json parse_header(const MappedFile& file, std::string_view text) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const json::parser_callback_t watch = [&](int /*depth*/, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw DataError("{}: its header names '{}' twice: it is damaged; write it again", file.path(),
                      parsed.get<std::string>());
    return true;
  };
  json header;
  try {
    header = json::parse(text, watch);
  } catch (const json::exception& error) {
    throw DataError("{}: its header is not JSON: it is damaged, or no safetensors file ({})", file.path(),
                    error.what());
  }
  if (!header.is_object()) throw DataError("{}: its header is no JSON object: it is damaged", file.path());
  return header;
}

/// One tensor's entry, checked by itself. `where` names file and tensor.
class Entry {
 public:
  Entry(std::string where, const json& entry) : where_(std::move(where)), entry_(entry) {
    if (!entry.is_object()) throw DataError("{}: its entry is no JSON object", where_);
    for (const auto& [key, value] : entry.items())
      if (key != "dtype" && key != "shape" && key != "data_offsets")
        throw DataError("{}: has an unknown property '{}'", where_, key);
  }

  const SafetensorsType& type() const {
    const json& name = property("dtype");
    const auto* found = name.is_string() ? find_safetensors_type(name.get<std::string>()) : nullptr;
    if (!found) throw DataError("{}: is of an unknown type {}", where_, name.dump());
    return *found;
  }

  Shape shape() const {
    const std::vector<std::int64_t> dims = whole_numbers("shape");
    if (std::ssize(dims) > Shape::kMaxRank)
      throw DataError("{}: has {} dimensions; at most {} are read", where_, dims.size(), +Shape::kMaxRank);
    std::int64_t product = 1;
    for (const std::int64_t dim : dims)
      if (__builtin_mul_overflow(product, dim, &product))
        throw DataError("{}: its shape is absurdly large", where_);
    return Shape(dims);
  }

  /// Its bytes, [begin, end) of the data.
  std::pair<std::int64_t, std::int64_t> place(std::int64_t data_bytes) const {
    const std::vector<std::int64_t> offsets = whole_numbers("data_offsets");
    if (offsets.size() != 2) throw DataError("{}: has {} data_offsets, not 2", where_, offsets.size());
    const auto [begin, end] = std::pair(offsets[0], offsets[1]);
    if (begin > end) throw DataError("{}: ends at {} before it begins at {}", where_, end, begin);
    if (end > data_bytes)
      throw DataError("{}: ends at byte {} of the data, but the file has {}: it is truncated", where_, end,
                      data_bytes);
    const std::int64_t numel = shape().numel();
    std::int64_t expected = 0;
    if (__builtin_mul_overflow(numel, type().bytes, &expected) || expected != end - begin)
      throw DataError("{}: {} {} do not take {} bytes", where_, shape().str(), type().name, end - begin);
    return {begin, end};
  }

 private:
  const json& property(const char* name) const {
    const auto found = entry_.find(name);
    if (found == entry_.end()) throw DataError("{}: has no {}", where_, name);
    return *found;
  }

  std::vector<std::int64_t> whole_numbers(const char* name) const {
    const json& list = property(name);
    const auto whole = [](const json& number) {
      return number.is_number_unsigned() && number.get<std::uint64_t>() <= INT64_MAX;
    };
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), whole))
      throw DataError("{}: its {} are {}, not whole numbers", where_, name, list.dump());
    return list.get<std::vector<std::int64_t>>();
  }

  std::string where_;
  const json& entry_;
};

void check_metadata(const MappedFile& file, const json& metadata) {
  const bool texts = metadata.is_object() && std::all_of(metadata.begin(), metadata.end(),
                                                         [](const json& value) { return value.is_string(); });
  if (!texts) throw DataError("{}: its __metadata__ are not texts by name", file.path());
}

/// The tensors, in order of their bytes, are the whole of the data.
void check_tiling(const MappedFile& file, std::span<const StoredTensor> tensors,
                  std::span<const std::uint8_t> data) {
  const std::uint8_t* next = data.data();
  const StoredTensor* before = nullptr;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.bytes.data() < next)
      throw DataError("{}: tensors '{}' and '{}' overlap: it is damaged", file.path(), before->name,
                      tensor.name);
    if (tensor.bytes.data() > next)
      throw DataError("{}: {} bytes before tensor '{}' belong to none: it is damaged", file.path(),
                      tensor.bytes.data() - next, tensor.name);
    next = tensor.bytes.data() + tensor.bytes.size();
    before = &tensor;
  }
  if (const auto left = data.data() + data.size() - next; left > 0)
    throw DataError("{}: {} bytes at its end belong to no tensor: it is damaged", file.path(), left);
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(std::make_shared<const MappedFile>(path)) {
  const Parts parts = take_apart(*file_);
  const json header = parse_header(*file_, parts.header);
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      check_metadata(*file_, value);
      continue;
    }
    const Entry entry(fmt::format("{}: tensor '{}'", path, name), value);
    const auto [begin, end] = entry.place(std::ssize(parts.data));
    tensors_.push_back(
        {name, std::string(entry.type().name), entry.type().dtype, entry.shape(),
         parts.data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))});
  }
  std::stable_sort(tensors_.begin(), tensors_.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  check_tiling(*file_, tensors_, parts.data);
}

}  // namespace tandem

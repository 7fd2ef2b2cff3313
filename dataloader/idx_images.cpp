#include "dataloader/idx_images.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "dataloader/gzip_file.h"

namespace tandem {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kImages = 0x0803, kLabels = 0x0801;  // the last byte is the number of dimensions

std::string images_name(const std::string& split) {
  return split + "-images-idx3-ubyte";
}
std::string labels_name(const std::string& split) {
  return split + "-labels-idx1-ubyte";
}

// The file's path, plain before .gz; empty if there is neither.
std::string find(const std::string& folder, const std::string& name) {
  const std::string path = (fs::path(folder) / name).string();
  std::error_code ignored;
  if (fs::exists(path, ignored)) return path;
  if (fs::exists(path + ".gz", ignored)) return path + ".gz";
  return "";
}

std::string must_find(const std::string& folder, const std::string& name) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) throw DataError("{}: no such folder: name one of idx files", folder);
  if (!fs::is_directory(folder, ignored))
    throw DataError("{}: is not a folder: name the one that holds {}", folder, name);
  std::string path = find(folder, name);
  if (path.empty())
    throw DataError("{}: holds neither {} nor {}.gz: name a folder with both", folder, name, name);
  return path;
}

std::string kind_of(std::uint32_t magic) {
  if (magic == kImages) return "idx images";
  if (magic == kLabels) return "idx labels";
  return fmt::format("a foreign file (magic {:#010x})", magic);
}

struct IdxFile {
  std::string path;
  std::vector<std::int64_t> dims;
  std::vector<std::uint8_t> values;
};

std::uint32_t big_endian(const std::vector<std::uint8_t>& bytes, std::size_t word) {
  std::uint32_t value = 0;
  for (std::size_t i = 4 * word; i < 4 * word + 4; ++i) value = value << 8 | bytes[i];
  return value;
}

// The number of values that the dimensions promise, or one more than `most` if that is more than there can
// be.
std::int64_t count_of(const std::vector<std::int64_t>& dims, std::int64_t most) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count = dim > 0 && count > most / dim ? most + 1 : count * dim;
  return count;
}

IdxFile read_idx(std::string path, std::uint32_t magic) {
  IdxFile file;
  file.path = std::move(path);
  file.values = read_maybe_gzip(file.path);
  const std::size_t dims = magic & 0xFF, header = 4 * (dims + 1);
  auto& bytes = file.values;
  if (bytes.empty()) throw DataError("{}: is empty: copy or make it again", file.path);
  if (bytes.size() >= 4 && big_endian(bytes, 0) != magic)
    throw DataError("{}: holds {} where {} are expected: are files swapped?", file.path,
                    kind_of(big_endian(bytes, 0)), kind_of(magic));
  if (bytes.size() < header)
    throw DataError("{}: {} bytes are less than an idx header: it is truncated; copy or make it again",
                    file.path, bytes.size());
  for (std::size_t d = 0; d < dims; ++d) file.dims.push_back(big_endian(bytes, 1 + d));
  const auto held = static_cast<std::int64_t>(bytes.size() - header);
  if (count_of(file.dims, held) != held)
    throw DataError(
        "{}: the header promises {} bytes of data, but the file has {}: it is truncated or damaged; "
        "copy or make it again",
        file.path, fmt::join(file.dims, " x "), held);
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return file;
}

void check_labels(const IdxFile& labels, std::int64_t classes) {
  const auto bad = std::find_if(labels.values.begin(), labels.values.end(),
                                [&](std::uint8_t label) { return label >= classes; });
  if (bad != labels.values.end())
    throw DataError(
        "{}: label {} of sample {} is not below the model's {} classes: give --mlp-sizes a last size "
        "of at least {}",
        labels.path, *bad, bad - labels.values.begin(), classes,
        1 + *std::max_element(labels.values.begin(), labels.values.end()));
}

}  // namespace

IdxImages::IdxImages(const std::string& folder, const std::string& split, std::int64_t classes)
    : name_(fmt::format("idx images {} ({})", folder, split)), classes_(classes) {
  IdxFile images = read_idx(must_find(folder, images_name(split)), kImages);
  IdxFile labels = read_idx(must_find(folder, labels_name(split)), kLabels);
  if (images.dims[0] != labels.dims[0])
    throw DataError("{}: {} images, but {} has {} labels: the files do not belong together", images.path,
                    images.dims[0], labels.path, labels.dims[0]);
  if (images.values.empty()) throw DataError("{}: holds no images: give other data", images.path);
  check_labels(labels, classes);
  rows_ = images.dims[1];
  columns_ = images.dims[2];
  pixels_ = std::move(images.values);
  labels_ = std::move(labels.values);
}

bool IdxImages::exist(const std::string& folder, const std::string& split) {
  return !find(folder, images_name(split)).empty() || !find(folder, labels_name(split)).empty();
}

void IdxImages::fetch(std::int64_t index, Philox& /*random*/, const Tensor& input,
                      const Tensor& target) const {
  require(index >= 0 && index < size(), "{}: image {} of {}", name_, index, size());
  const std::int64_t pixels = rows_ * columns_;
  const std::uint8_t* image = pixels_.data() + index * pixels;
  std::transform(image, image + pixels, input.as<float>(),
                 [](std::uint8_t pixel) { return static_cast<float>(pixel) / 255.0f; });
  target.as<std::int32_t>()[0] = labels_[static_cast<std::size_t>(index)];
}

std::string IdxImages::describe() const {
  return fmt::format("{}: {} samples of {} x {} values, {} classes", name_, size(), rows_, columns_,
                     classes_);
}

}  // namespace tandem

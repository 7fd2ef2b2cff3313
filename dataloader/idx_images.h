#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataloader/dataset.h"

namespace tandem {

/// A folder of images in MNIST's layout: SPLIT-images-idx3-ubyte and SPLIT-labels-idx1-ubyte, plain or with
/// .gz. An idx file is big-endian int32: magic 0x0803 (bytes, 3 dimensions) or 0x0801 (1 dimension), the
/// dimensions, then the bytes. Source: http://yann.lecun.com/exdb/mnist. A sample is an image, flattened to
/// f32 [rows·columns] in [0, 1] = byte / 255, and its label. The files are read into memory.
class IdxImages : public Dataset {
 public:
  /// `split` is "train" or "t10k". Throws DataError if a file is missing, damaged or of another kind, the two
  /// disagree, or a label is not below `classes`.
  IdxImages(const std::string& folder, const std::string& split, std::int64_t classes);
  /// Whether the folder has either of a split's files.
  static bool exist(const std::string& folder, const std::string& split);

  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  TensorSpec input() const override { return {DType::f32, {rows_ * columns_}}; }
  TensorSpec target() const override { return {DType::i32, {1}}; }
  std::int64_t classes() const override { return classes_; }
  void fetch(std::int64_t index, Philox& random, const Tensor& input, const Tensor& target) const override;
  std::string describe() const override;

 private:
  std::string name_;
  std::int64_t classes_, rows_ = 0, columns_ = 0;
  std::vector<std::uint8_t> pixels_;  // [samples, rows, columns]
  std::vector<std::uint8_t> labels_;  // [samples]
};

}  // namespace tandem

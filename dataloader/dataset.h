#pragma once

#include <cstdint>
#include <string>

#include "core/base/philox.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// Samples by index. To bring data of one's own, implement the six pure functions
/// (examples/custom_dataset.cpp). All of them are called by several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;
  /// Of one sample: f32 features [n], or i32 token ids [T].
  virtual TensorSpec input() const = 0;
  /// i32: [1] label, or [T] next tokens. −1 marks a position that does not count.
  virtual TensorSpec target() const = 0;
  /// Number of classes, or the vocabulary: inputs (ids) and targets are below it.
  virtual std::int64_t classes() const = 0;
  /// Writes sample `index` to `input` and `target` (views of one row). `random` is keyed by (seed, epoch,
  /// sample): augmentation drawn from it does not depend on the number of workers or ranks. What it throws
  /// reaches the caller of DataLoader::next() at the batch that it belongs to.
  virtual void fetch(std::int64_t index, Philox& random, const Tensor& input, const Tensor& target) const = 0;
  /// One line for the console: "idx images …: 60000 samples of 784 values, 10 classes".
  virtual std::string describe() const = 0;

  /// Override the next two, both, if fetch() writes −1 into some targets: the loss is divided by the number
  /// of valid targets of the whole step, which every rank must know without fetching the others' samples.
  virtual bool has_missing_targets() const { return false; }
  /// Targets of sample `index` that are not −1.
  virtual std::int64_t valid_targets(std::int64_t index) const {
    static_cast<void>(index);
    return target().shape.numel();
  }
};

}  // namespace tandem

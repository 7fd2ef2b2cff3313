#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/philox.h"
#include "core/tensor/tensor.h"

namespace tandem {

/// Samples by index. To bring data of one's own: implement these five. `fetch` is called by several threads
/// at once.
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
  /// sample): augmentation drawn from it does not depend on the number of workers or ranks.
  virtual void fetch(std::int64_t index, Philox& random, const Tensor& input, const Tensor& target) const = 0;
  /// One line for the console: "idx images …: 60,000 samples of 784, 10 classes".
  virtual std::string describe() const = 0;
};

}  // namespace tandem

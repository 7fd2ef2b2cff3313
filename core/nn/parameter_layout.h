#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/nn/parameter.h"

namespace tandem {

/// Elements [offset, offset + numel) of flat memory.
struct LayoutRange {
  std::int64_t offset = 0, numel = 0;

  std::int64_t end() const { return offset + numel; }
  /// What lies in both; of size 0 if nothing does.
  LayoutRange within(const LayoutRange& other) const {
    const std::int64_t from = std::max(offset, other.offset), to = std::min(end(), other.end());
    return {from, std::max<std::int64_t>(to - from, 0)};
  }
};

/// Where each parameter lies in flat memory. Offsets are in elements; gaps are padding and always zero.
/// Values, gradients and optimizer state share one layout, so an update runs over plain slices. DDP's
/// BucketPlan makes one in which every bucket is contiguous; without DDP, `in_order` does.
class ParameterLayout {
 public:
  static constexpr std::int64_t kAlignment =
      32;  ///< elements: 128 bytes in fp32, enough for any vector access

  struct Entry {
    Parameter* parameter;
    std::int64_t offset;  ///< in elements
  };

  /// The parameters one after the other, each aligned.
  static ParameterLayout in_order(const ParameterList& parameters);

  /// Appends a parameter at the next aligned offset and returns that offset. All parameters of a layout have
  /// one dtype.
  std::int64_t append(Parameter& parameter);
  /// Rounds the end up to a multiple of `elements`.
  void pad_to(std::int64_t elements);

  const std::vector<Entry>& entries() const { return entries_; }
  std::int64_t numel() const { return numel_; }  ///< padding included
  DType dtype() const { return dtype_; }

 private:
  std::vector<Entry> entries_;
  std::int64_t numel_ = 0;
  DType dtype_ = DType::f32;
};

}  // namespace tandem

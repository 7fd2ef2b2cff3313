#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "core/base/error.h"

namespace tandem {

/// Up to four dimensions, outermost first, row-major. A value: copying it allocates nothing.
class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims) : rank_(static_cast<int>(dims.size())) {
    require(rank_ <= kMaxRank, "a shape has at most {} dimensions, not {}", kMaxRank, rank_);
    std::copy(dims.begin(), dims.end(), dims_.begin());
    for (int i = 0; i < rank_; ++i) require(dims_[i] >= 0, "dimension {} of a shape is {}", i, dims_[i]);
  }

  int rank() const { return rank_; }
  std::int64_t operator[](int i) const { return dims_.at(i < 0 ? rank_ + i : i); }  // -1 is the last
  std::int64_t last() const { return (*this)[-1]; }

  /// Product of all dimensions; 1 for a scalar.
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank_; ++i) n *= dims_[i];
    return n;
  }
  /// The shape seen as a matrix: product of all dimensions but the last.
  std::int64_t rows() const { return rank_ == 0 || last() == 0 ? 1 : numel() / last(); }

  /// The same shape with another last dimension.
  Shape with_last(std::int64_t n) const {
    Shape s = *this;
    s.dims_.at(rank_ - 1) = n;
    return s;
  }

  bool operator==(const Shape&) const = default;

  std::string str() const {
    std::string s = "[";
    for (int i = 0; i < rank_; ++i) s += (i ? ", " : "") + std::to_string(dims_[i]);
    return s + "]";
  }

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

}  // namespace tandem

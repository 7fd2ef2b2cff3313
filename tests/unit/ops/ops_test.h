#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/philox.h"
#include "core/tensor/tensor.h"

// What the tests of operations share: tensors that own their memory, fresh random numbers, and the comparison
// with a reference that is computed in double, in the plainest way.

namespace tandem {

/// A tensor with its memory.
template <class T>
struct Owned {
  explicit Owned(Shape s, T fill = T(0))
      : shape(s), values(static_cast<std::size_t>(s.numel()), fill), tensor(Tensor::of(values.data(), s)) {}
  Owned(const Owned& other)
      : shape(other.shape), values(other.values), tensor(Tensor::of(values.data(), shape)) {}
  Owned& operator=(const Owned&) = delete;

  operator const Tensor&() const { return tensor; }
  T& operator[](std::int64_t i) { return values[static_cast<std::size_t>(i)]; }
  double operator[](std::int64_t i) const { return static_cast<double>(values[static_cast<std::size_t>(i)]); }
  std::int64_t numel() const { return shape.numel(); }

  Shape shape;
  std::vector<T> values;
  Tensor tensor;
};

/// An output that shows whether all of it is written: NaN at first.
template <class T>
Owned<T> poisoned(Shape shape) {
  return Owned<T>(shape, std::numeric_limits<T>::quiet_NaN());
}

/// Random numbers that differ from run to run; a failing comparison prints the seed.
class Random {
 public:
  Random() : seed_(std::random_device{}()), philox_(seed_) {}

  template <class T>
  Owned<T> normal(Shape shape, double deviation = 1) {
    Owned<T> t(shape);
    for (T& x : t.values) x = static_cast<T>(deviation * philox_.normal());
    return t;
  }
  Owned<std::int32_t> integers(Shape shape, std::int32_t below) {
    Owned<std::int32_t> t(shape);
    for (auto& x : t.values) x = static_cast<std::int32_t>(philox_() % static_cast<std::uint32_t>(below));
    return t;
  }
  double uniform() { return philox_.uniform(); }
  std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t seed_;
  Philox philox_;
};

using Reference = std::vector<double>;

/// float: 1e-5, double: 1e-12, of an element's size plus the root mean square of all.
template <class T>
void expect_close(const Owned<T>& actual, const Reference& expected, const Random& random,
                  double tolerance = std::is_same_v<T, float> ? 1e-5 : 1e-12) {
  ASSERT_EQ(actual.values.size(), expected.size());
  double squares = 0;
  for (double x : expected) squares += x * x;
  const double rms = std::sqrt(squares / static_cast<double>(std::max<std::size_t>(expected.size(), 1)));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(static_cast<double>(actual.values[i]) - expected[i]);
    ASSERT_LE(error, tolerance * (std::abs(expected[i]) + rms))
        << "element " << i << " is " << actual.values[i] << ", expected " << expected[i] << "; seed "
        << random.seed();
  }
}

/// Sizes around those of vectors, tiles and blocks.
inline const std::vector<std::int64_t> kOddSizes = {1, 3, 17, 64, 127};

}  // namespace tandem

#pragma once

#include <cstddef>
#include <cublasLt.h>
#include <map>
#include <string>

namespace tandem::ops::cuda {

/// The algorithms that were chosen for products by timing them on one kind of GPU, and their text form. A
/// product is named by the text that says all that a choice depends on (ProductKey::text).
class AlgorithmCache {
 public:
  struct Choice {
    cublasLtMatmulAlgo_t algorithm;
    double us;  ///< the median of its timed runs
  };

  /// For the calling thread's GPU. An algorithm's bits mean something to one version of the library only.
  AlgorithmCache();

  /// Null if there is none.
  const Choice* find(const std::string& product) const;
  void keep(const std::string& product, const Choice& choice);

  /// One line of JSON for each product, sorted by its name.
  std::string text() const;
  /// Adds what text() gave, but for lines of another GPU or version. Throws DataError, having added nothing.
  void add(const std::string& text);

 private:
  std::string device_;
  std::size_t version_;
  std::map<std::string, Choice> choices_;
};

}  // namespace tandem::ops::cuda

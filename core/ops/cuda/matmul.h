#pragma once

#include <cublasLt.h>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/device/cuda/cuda_device.h"
#include "core/ops/cuda/algorithm_cache.h"
#include "core/ops/cuda/product.h"
#include "core/ops/tuning.h"

namespace tandem::ops::cuda {

/// Products by cuBLASLt on a GPU's compute stream. What a product needs (descriptors, a chosen algorithm) is
/// made when it first runs and kept, so that later runs cost a look-up and one call. Uses the upper half of
/// Workspace.
class Matmul {
 public:
  Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;
  ~Matmul();

  /// False, and nothing is done, where there is no kernel for this product with its epilogue. Throws
  /// DeviceError where there is none without one. No empty `inner`; empty rows or cols are no work.
  bool run(Context& context, const Product& product, const Operands& operands);

  // See core/ops/tuning.h. Products already planned take part: they are planned anew.
  void set_tuning(Tuning tuning);
  std::string tuned_algorithms() const { return algorithms_.text(); }
  void use_algorithms(const std::string& text);

 private:
  struct Plan;
  std::unique_ptr<Plan> make_plan(Context& context, const ProductKey& key, const Operands& operands);
  /// The library's guesses, the best first.
  std::vector<cublasLtMatmulAlgo_t> candidates(Plan& plan, const ProductKey& key) const;
  /// True if this library can run a kept algorithm.
  bool accepts(Plan& plan, const cublasLtMatmulAlgo_t& algorithm) const;
  /// Makes the fastest of the candidates the plan's algorithm.
  void tune(Context& context, Plan& plan, const ProductKey& key, Operands operands,
            std::vector<cublasLtMatmulAlgo_t> candidates);
  cublasStatus_t launch(Context& context, Plan& plan, const cublasLtMatmulAlgo_t& algorithm,
                        const Operands& operands) const;

  cublasLtHandle_t handle_ = nullptr;
  Tuning tuning_ = Tuning::off;
  AlgorithmCache algorithms_;
  std::unordered_map<ProductKey, std::unique_ptr<Plan>, ProductKey::Hash> plans_;
};

inline Matmul& matmul_of(const Context& context) {
  return tandem::cuda::device_of(context).part<Matmul>();
}

}  // namespace tandem::ops::cuda

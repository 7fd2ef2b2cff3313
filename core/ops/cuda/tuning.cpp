#include "core/ops/tuning.h"

#include <cublasLt.h>

#include <fmt/format.h>

#include "core/ops/cuda/cuda_ops.h"
#include "core/ops/cuda/cudnn_attention.h"
#include "core/ops/cuda/matmul.h"

namespace tandem::ops::cuda {

void set_tuning(Context& context, Tuning tuning) {
  matmul_of(context).set_tuning(tuning);
}

std::string tuned_algorithms(const Context& context) {
  return matmul_of(context).tuned_algorithms();
}

void use_algorithms(Context& context, const std::string& text) {
  matmul_of(context).use_algorithms(text);
}

std::map<std::string, std::string> library_versions(const Context&) {
  const std::size_t cublaslt = cublasLtGetVersion();
  return {{"cublaslt", fmt::format("{}.{}.{}", cublaslt / 10000, cublaslt % 10000 / 100, cublaslt % 100)},
          {"cudnn", cudnn_version()}};
}

}  // namespace tandem::ops::cuda

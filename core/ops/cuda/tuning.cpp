#include "core/ops/tuning.h"

#include "core/ops/cuda/cuda_ops.h"
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

}  // namespace tandem::ops::cuda

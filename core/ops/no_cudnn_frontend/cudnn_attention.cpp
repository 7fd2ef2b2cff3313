#include "core/ops/cuda/cudnn_attention.h"

namespace tandem::ops::cuda {

namespace {

constexpr char kAbsent[] = "this program was built without cudnn-frontend";

}  // namespace

bool cudnn_attention_available() {
  return false;
}

std::string cudnn_version() {
  return "";
}

bool cudnn_attends(const Context&, const TensorSpec&, std::int64_t) {
  return false;
}

std::int64_t cudnn_attention_scratch(const Context&, const TensorSpec&, std::int64_t) {
  throw ContractError(kAbsent);
}

void cudnn_attention_forward(Context&, const Tensor&, std::int64_t, const Tensor&, const Tensor&,
                             const Tensor&) {
  throw ContractError(kAbsent);
}

void cudnn_attention_backward(Context&, const Tensor&, std::int64_t, const Tensor&, const Tensor&,
                              const Tensor&, const Tensor&, const Tensor&) {
  throw ContractError(kAbsent);
}

}  // namespace tandem::ops::cuda

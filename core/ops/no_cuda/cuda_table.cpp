#include "core/base/error.h"
#include "core/ops/op_table.h"

namespace tandem::ops {

const OpTable& cuda_table() {
  throw ContractError("a context on a GPU in a program that was built without CUDA");
}

}  // namespace tandem::ops

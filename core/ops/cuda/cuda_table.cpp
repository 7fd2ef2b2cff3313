#include "core/ops/cuda/cuda_ops.h"

namespace tandem::ops {

const OpTable& cuda_table() {
#define TANDEM_ENTRY(operation) .operation = cuda::operation,
  static constexpr OpTable table{TANDEM_OPERATIONS(TANDEM_ENTRY)};
#undef TANDEM_ENTRY
  return table;
}

}  // namespace tandem::ops

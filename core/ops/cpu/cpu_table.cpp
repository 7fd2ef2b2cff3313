#include "core/ops/cpu/cpu_ops.h"

namespace tandem::ops {

const OpTable& cpu_table() {
#define TANDEM_ENTRY(operation) .operation = cpu::operation,
  static constexpr OpTable table{TANDEM_OPERATIONS(TANDEM_ENTRY)};
#undef TANDEM_ENTRY
  return table;
}

}  // namespace tandem::ops

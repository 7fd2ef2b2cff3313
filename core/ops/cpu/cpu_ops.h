#pragma once

#include "core/ops/op_table.h"

/// What stands in the backend's table: declared here, each defined in the file of its operation.
namespace tandem::ops::cpu {

TANDEM_OPERATIONS(TANDEM_DECLARE_OPERATION)

}  // namespace tandem::ops::cpu

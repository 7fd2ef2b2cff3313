#include "core/ops/op_table.h"

namespace tandem::ops {

namespace {

/// The operation of a signature that does nothing.
template <class Operation>
struct Nothing;
template <class Result, class... Arguments>
struct Nothing<Result (*)(Arguments...)> {
  static Result run(Arguments...) { return Result(); }
};

}  // namespace

const OpTable& dry_table() {
#define TANDEM_NOTHING(operation) .operation = &Nothing<decltype(OpTable::operation)>::run,
  static constexpr OpTable table = {TANDEM_OPERATIONS(TANDEM_NOTHING)};
#undef TANDEM_NOTHING
  return table;
}

}  // namespace tandem::ops

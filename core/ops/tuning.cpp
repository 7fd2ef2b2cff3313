#include "core/ops/tuning.h"

#include "core/ops/op_table.h"

namespace tandem::ops {

void set_tuning(Context& context, Tuning tuning) {
  table_of(context).set_tuning(context, tuning);
}

std::string tuned_algorithms(const Context& context) {
  return table_of(context).tuned_algorithms(context);
}

void use_algorithms(Context& context, const std::string& algorithms) {
  table_of(context).use_algorithms(context, algorithms);
}

std::map<std::string, std::string> library_versions(const Context& context) {
  return table_of(context).library_versions(context);
}

}  // namespace tandem::ops

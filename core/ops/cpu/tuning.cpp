#include "core/ops/cpu/cpu_ops.h"

// The CPU has one algorithm for each operation: there is nothing to choose.
namespace tandem::ops::cpu {

void set_tuning(Context&, Tuning) {}

std::string tuned_algorithms(const Context&) {
  return "";
}

void use_algorithms(Context&, const std::string&) {}

std::map<std::string, std::string> library_versions(const Context&) {
  return {};
}

}  // namespace tandem::ops::cpu

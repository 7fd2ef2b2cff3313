#include "core/telemetry/host_range.h"

#include <nvtx3/nvToolsExt.h>

namespace tandem {

void push_range(const char* name) {
  nvtxRangePushA(name);
}

void pop_range() {
  nvtxRangePop();
}

}  // namespace tandem

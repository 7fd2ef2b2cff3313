#pragma once

#include <memory>

#include "ddp/comm_hook.h"
#include "examples/train/options.h"

namespace tandem::train {

/// What the options do to a bucket: --comm-hook, --reduce-dtype and --zero.
std::unique_ptr<CommHook> make_hook(const Options& options);

/// Throws UsageError for a --comm-hook or --reduce-dtype that does not exist, or does not suit the gradients.
void check_hook(const Options& options);

}  // namespace tandem::train

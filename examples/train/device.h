#pragma once

#include <optional>
#include <string>

#include "core/base/dtype.h"
#include "core/base/error.h"
#include "core/comm/launch.h"
#include "core/device/context.h"
#include "examples/train/options.h"

namespace tandem::train {

/// Where a rank computes, by --device and what this host has.
struct ChosenDevice {
  Context context;
  std::string note;  ///< what a person is told: "cpu (no GPU: …)"; empty if there is nothing to say
  std::optional<UsageError>
      error;  ///< why the wish cannot be met; the context is a CPU's then, to agree on it with
};

/// One GPU for each rank of this host.
ChosenDevice choose_device(const Options& options, const Place& place);

/// What the model computes in, by --precision.
DType compute_dtype(const Options& options);
/// What gradients are kept and reduced in, by --grad-dtype. Micro-batches accumulate in fp32.
DType gradient_dtype(const Options& options);

}  // namespace tandem::train

#pragma once

#include <functional>
#include <vector>

#include "core/comm/communicator.h"
#include "core/device/context.h"
#include "core/telemetry/link_fit.h"

namespace tandem {

/// Times of one kind of call, over ranks and calls, in microseconds.
struct CollectiveTimes {
  double mean_us = 0;            ///< all calls together / their number, on the rank where that is longest
  std::vector<double> calls_us;  ///< each call, on the rank where it took longest
};

/// Times `calls` calls, back to back after `warmup` more, by marks on `stream`; ranks start together. `call`
/// puts one call on `stream`. Collective over `comm`, blocks the host, and returns the same on every rank.
CollectiveTimes time_calls(Context& context, Communicator& comm, Stream& stream,
                           const std::function<void()>& call, int warmup, int calls);

/// The all-reduce of gradients among `comm`, as a function of its size: medians of a few calls for sizes from
/// 1 KiB to `most_bytes`, fitted. Takes about as long as reducing 30 times `most_bytes`. Collective, blocks
/// the host, the same on every rank; a group of one rank gives the model in which nothing takes time.
LinkModel measure_link(Context& context, Communicator& comm, DType dtype, double most_bytes);

}  // namespace tandem

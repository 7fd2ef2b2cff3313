#pragma once

#include <cstdint>
#include <memory>

#include "core/device/context.h"
#include "dataloader/dataset.h"
#include "dataloader/sampler.h"

namespace tandem {

/// One micro-batch of one rank.
struct Batch {
  Tensor inputs;                   ///< [b, …] as Dataset::input(); ids of empty rows are 0, features 0
  Tensor targets;                  ///< [b, …] as Dataset::target(); empty rows hold −1
  std::int64_t samples = 0;        ///< rows that are not empty, here
  std::int64_t valid_targets = 0;  ///< targets ≥ 0, here
  std::int64_t step_valid_targets =
      0;  ///< N: targets ≥ 0 over all ranks and micro-batches of this optimizer step
  std::int64_t epoch = 0;
};

struct LoaderOptions {
  int workers = 1;              ///< threads; 0 fetches on the calling thread
  int prefetch = 4;             ///< batches held ready
  std::int64_t first_step = 0;  ///< resume here
};

/// Worker threads fill a ring of staging slots; next() hands batches out in order whatever the workers do.
/// Threads live as long as the loader, across epochs. What a worker throws is thrown by next() at the batch
/// it belongs to.
class DataLoader {
 public:
  DataLoader(Context& context, std::shared_ptr<const Dataset> dataset, DistributedSampler sampler,
             LoaderOptions options);
  ~DataLoader();

  /// The next micro-batch, in fixed memory that stays valid until the next call. Never ends: epoch follows
  /// epoch, each with its own permutation.
  const Batch& next();

  const DistributedSampler& sampler() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem

#pragma once

#include <cstdint>
#include <memory>

#include "core/device/context.h"
#include "dataloader/batch_builder.h"
#include "dataloader/dataset.h"
#include "dataloader/sampler.h"

namespace tandem {

struct LoaderOptions {
  int workers = 1;              ///< threads; 0 fetches on the calling thread
  int prefetch = 4;             ///< batches held ready (≥ 1 with workers)
  std::int64_t first_step = 0;  ///< resume here: the optimizer step, counted over epochs, of the first batch
};

/// Worker threads fill a ring of slots; next() hands batches out in order whatever the workers do. Threads
/// live as long as the loader, across epochs; memory is allocated once, here. A loader never ends: a pass
/// over a validation set is sampler().steps_per_epoch() steps.
class DataLoader {
 public:
  /// Throws DataError if the sampler has no step to give (an empty data set, or `drop` and fewer samples than
  /// one global batch).
  DataLoader(Context& context, std::shared_ptr<const Dataset> dataset, DistributedSampler sampler,
             LoaderOptions options = {});
  ~DataLoader();

  /// The next micro-batch (K of them make a step), in memory that stays valid until the next call. Epoch
  /// follows epoch, each with its own permutation. Throws what fetching this batch threw; the call after that
  /// goes on with the batch after it.
  const Batch& next();

  const DistributedSampler& sampler() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws DataError if the data set holds less than one global batch: what a training run checks first.
void check_global_batch(const Dataset& dataset, const DistributedSampler& sampler);

}  // namespace tandem

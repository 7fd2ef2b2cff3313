#pragma once

#include <cstdint>
#include <memory>

#include "dataloader/dataset.h"
#include "dataloader/sampler.h"

namespace tandem {

/// One micro-batch of one rank.
struct Batch {
  Tensor inputs;                   ///< [b, …] as Dataset::input(); ids of empty rows are 0, features 0
  Tensor targets;                  ///< [b, …] as Dataset::target(); empty rows hold −1
  std::int64_t samples = 0;        ///< rows that are not empty, here
  std::int64_t valid_targets = 0;  ///< targets ≥ 0, here
  /// N: targets ≥ 0 over all ranks and micro-batches of this optimizer step. The loss seed is 1/N.
  std::int64_t step_valid_targets = 0;
  std::int64_t epoch = 0;
};

/// Fills micro-batches: micro-batch i (counted over steps and epochs) is a pure function of i, so any thread
/// may build any of them, in any order. Throws DataError, naming the sample, if a data set breaks its promise
/// (ids or targets that are not below classes()), ContractError if it miscounts its valid targets.
class BatchBuilder {
 public:
  BatchBuilder(std::shared_ptr<const Dataset> dataset, DistributedSampler sampler);

  /// [b, …]: what a batch's tensors must be.
  TensorSpec inputs() const;
  TensorSpec targets() const;
  const DistributedSampler& sampler() const { return sampler_; }

  void build(std::int64_t micro_batch, Batch& batch) const;

 private:
  void build_row(std::int64_t sample, Philox& random, const Tensor& input, const Tensor& target,
                 Batch& batch) const;
  std::int64_t step_valid_targets(std::int64_t step) const;

  std::shared_ptr<const Dataset> dataset_;
  DistributedSampler sampler_;
};

}  // namespace tandem

#include "dataloader/batch_builder.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace tandem {

namespace {

// The key of an epoch's augmentation. The second counter word keeps it apart from the permutation's counters.
std::uint64_t epoch_key(std::uint64_t seed, std::int64_t epoch) {
  const auto e = static_cast<std::uint64_t>(epoch);
  const auto bits =
      philox4x32({0, 0xFFFFFFFFu, static_cast<std::uint32_t>(e), static_cast<std::uint32_t>(e >> 32)}, seed);
  return (static_cast<std::uint64_t>(bits[0]) << 32) | bits[1];
}

// [b, …] for samples of […].
TensorSpec batched(const TensorSpec& sample, std::int64_t b) {
  const Shape& s = sample.shape;
  switch (s.rank()) {
    case 0:
      return {sample.dtype, {b}};
    case 1:
      return {sample.dtype, {b, s[0]}};
    case 2:
      return {sample.dtype, {b, s[0], s[1]}};
    case 3:
      return {sample.dtype, {b, s[0], s[1], s[2]}};
    default:
      throw ContractError("a sample of shape {} leaves no dimension for the batch", s.str());
  }
}

Tensor row_of(const Tensor& batch, std::int64_t row, const Shape& sample) {
  return batch.slice(row * sample.numel(), sample.numel()).reshape(sample);
}

void clear_row(const Tensor& input, const Tensor& target) {
  std::memset(input.data(), 0, static_cast<std::size_t>(input.bytes()));
  std::fill_n(target.as<std::int32_t>(), target.numel(), -1);
}

// An id or target out of range would read or write foreign memory in the model: find it here, by name.
void check_range(const Tensor& values, std::int64_t lowest, const Dataset& dataset, std::int64_t sample,
                 const char* what) {
  const auto* first = values.as<std::int32_t>();
  const auto* last = first + values.numel();
  std::int32_t low = 0, high = 0;
  for (const auto* v = first; v != last; ++v) {
    low = std::min(low, *v);
    high = std::max(high, *v);
  }
  if (low < lowest || high >= dataset.classes())
    throw DataError("{}: sample {} has the {} {}, which is not below the {} classes (or vocabulary)",
                    dataset.describe(), sample, what, low < lowest ? low : high, dataset.classes());
}

}  // namespace

BatchBuilder::BatchBuilder(std::shared_ptr<const Dataset> dataset, DistributedSampler sampler)
    : dataset_(std::move(dataset)), sampler_(sampler) {
  const DType input = dataset_->input().dtype;
  require(input == DType::f32 || input == DType::i32, "inputs are f32 features or i32 ids, not {}",
          name_of(input));
  require(dataset_->target().dtype == DType::i32, "targets are i32, not {}",
          name_of(dataset_->target().dtype));
  require(sampler_.batch > 0 && sampler_.micro_batches > 0 && sampler_.rank >= 0 &&
              sampler_.rank < sampler_.ranks,
          "a sampler of batch {}, {} micro-batches, rank {} of {}", sampler_.batch, sampler_.micro_batches,
          sampler_.rank, sampler_.ranks);
  require(sampler_.dataset_size == dataset_->size(), "a sampler over {} samples for a data set of {}",
          sampler_.dataset_size, dataset_->size());
}

TensorSpec BatchBuilder::inputs() const {
  return batched(dataset_->input(), sampler_.batch);
}

TensorSpec BatchBuilder::targets() const {
  return batched(dataset_->target(), sampler_.batch);
}

void BatchBuilder::build(std::int64_t micro_batch, Batch& batch) const {
  const std::int64_t step = micro_batch / sampler_.micro_batches;
  const std::int64_t micro = micro_batch % sampler_.micro_batches;
  batch.samples = batch.valid_targets = 0;
  batch.epoch = sampler_.epoch(step);
  const std::uint64_t key = epoch_key(sampler_.seed, batch.epoch);
  const Shape input_shape = dataset_->input().shape, target_shape = dataset_->target().shape;
  for (std::int64_t row = 0; row < sampler_.batch; ++row) {
    const Tensor input = row_of(batch.inputs, row, input_shape);
    const Tensor target = row_of(batch.targets, row, target_shape);
    const std::int64_t sample = sampler_.sample(step, micro, row);
    if (sample < 0) {
      clear_row(input, target);
      continue;
    }
    Philox random(key, static_cast<std::uint64_t>(sample));
    build_row(sample, random, input, target, batch);
  }
  batch.step_valid_targets = step_valid_targets(step);
}

void BatchBuilder::build_row(std::int64_t sample, Philox& random, const Tensor& input, const Tensor& target,
                             Batch& batch) const {
  dataset_->fetch(sample, random, input, target);
  if (input.dtype() == DType::i32) check_range(input, 0, *dataset_, sample, "token id");
  check_range(target, -1, *dataset_, sample, "target");
  const auto* targets = target.as<std::int32_t>();
  const std::int64_t valid = target.numel() - std::count(targets, targets + target.numel(), -1);
  const std::int64_t promised =
      dataset_->has_missing_targets() ? dataset_->valid_targets(sample) : target.numel();
  if (valid != promised)
    throw ContractError(
        "{}: sample {} has {} targets that are not -1, but the data set promised {}: override "
        "both has_missing_targets() and valid_targets()",
        dataset_->describe(), sample, valid, promised);
  batch.samples += 1;
  batch.valid_targets += valid;
}

std::int64_t BatchBuilder::step_valid_targets(std::int64_t step) const {
  if (!dataset_->has_missing_targets())
    return sampler_.valid_samples(step) * dataset_->target().shape.numel();
  std::int64_t sum = 0;
  for (std::int64_t position = 0; position < sampler_.valid_samples(step); ++position)
    sum += dataset_->valid_targets(sampler_.global_sample(step, position));
  return sum;
}

}  // namespace tandem

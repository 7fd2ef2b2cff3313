#include "examples/train/evaluate.h"

#include <array>

namespace tandem::train {

namespace {

DistributedSampler in_order(const Setup& setup) {
  DistributedSampler sampler = setup.sampler;
  sampler.dataset_size = setup.data.validation->size();
  sampler.micro_batches = 1;
  sampler.shuffle = false;
  sampler.tail = Tail::pad;
  return sampler;
}

}  // namespace

Evaluator::Evaluator(Context& context, Communicator& communicator, const Setup& setup)
    : context_(context),
      communicator_(communicator),
      loader_(context, setup.data.validation, in_order(setup),
              {.workers = static_cast<int>(setup.options.workers), .prefetch = 2}),
      feed_(context, loader_) {}

Evaluation Evaluator::run(Replica& replica) {
  std::array<double, 3> sums{};  // loss, correct, targets
  for (std::int64_t step = 0; step < loader_.sampler().steps_per_epoch(); ++step) {
    const Batch& batch = feed_.next();
    replica.loss.forward(replica.forward(context_, batch.inputs), batch.targets);
    const CrossEntropyLoss::Result result = replica.loss.read();
    sums[0] += result.loss_sum;
    sums[1] += static_cast<double>(result.correct);
    sums[2] += static_cast<double>(batch.valid_targets);
  }
  communicator_.control().all_reduce(Tensor::of(sums.data(), {3}), ReduceOp::sum, context_.control());
  context_.control().synchronize();
  return {sums[0] / sums[2], sums[1] / sums[2], static_cast<std::int64_t>(sums[2])};
}

}  // namespace tandem::train

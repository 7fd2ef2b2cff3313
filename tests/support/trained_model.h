#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/philox.h"
#include "core/tensor/planned_memory.h"
#include "ddp/parameter_gather.h"
#include "ddp/ready_order.h"
#include "ddp/reducer.h"
#include "ddp/replicate.h"
#include "ddp/sharded_norm.h"
#include "models/loss.h"
#include "optim/optimizer.h"

namespace tandem::testing {

/// A model and the data that it is trained on: `classes` to choose from at each of the positions of `sample`.
struct Task {
  std::function<std::unique_ptr<Module>()> make;
  TensorSpec sample;           ///< one input, without the batch: i32 ids [T] or f32 features [n]
  std::int64_t positions = 1;  ///< targets per sample
  std::int64_t classes = 2;
};

struct Recipe {
  int batch = 2, accumulate = 1;  ///< per rank
  bool ragged = false;            ///< every third sample counts for nothing, as at the end of an epoch
  BucketOptions caps = {};
  ReducerOptions reducer = {};
  int steps = 20;
  bool adamw = false;  ///< else SGD with momentum
  double clip = 0;
  bool zero = false;  ///< ZeRO-1
};

/// Trains on samples that depend on their global number alone, so that any split over
/// ranks and micro-batches sees the same global batches.
class TrainedModel {
 public:
  TrainedModel(Context& context, Communicator& communicator, const Task& task, const Recipe& recipe)
      : context_(context),
        communicator_(communicator),
        task_(task),
        recipe_(recipe),
        module_(task.make()),
        plan_(BucketPlan::make(module_->parameters(), trace_ready_order(context, *module_, input(1)),
                               recipe.caps, communicator.size())),
        store_(ParameterStore::allocate(context, plan_.layout, module_->parameters())),
        loss_(context),
        memory_(context, [this](MemoryPlan& memory) { plan(memory); }),
        hook_(recipe.zero ? make_plain_hook(SumOn::own_share) : nullptr),
        reducer_(context, communicator, plan_, store_, reducer_options()),
        optimizer_(make_optimizer()),
        norm_(make_norm()) {
    if (recipe.zero)
      gather_.emplace(context, communicator, plan_, store_, /*overlap=*/recipe.reducer.overlap);
    store_.initialize(context, 1 + communicator.rank());  // replicate() makes them equal
    replicate(context, communicator, plan_, store_);
    for (int step = 0; step < recipe.steps; ++step) losses_.push_back(train_step(step));
    if (gather_) gather_->wait_all();
  }

  const BucketPlan& plan() const { return plan_; }
  const ParameterStore& store() const { return store_; }
  const ParameterList& parameters() const { return store_.parameters(); }
  /// This rank's part of each step's mean loss.
  const std::vector<double>& losses() const { return losses_; }
  /// Each step's gradient norm, where it is clipped.
  const std::vector<double>& norms() const { return norms_; }
  const Optimizer& optimizer() const { return *optimizer_; }

 private:
  TensorSpec input(std::int64_t batch) const { return {task_.sample.dtype, {batch, task_.sample.shape[0]}}; }

  ReducerOptions reducer_options() const {
    ReducerOptions options = recipe_.reducer;
    if (hook_ && !options.hook) options.hook = hook_.get();
    return options;
  }
  std::unique_ptr<Optimizer> make_optimizer() {
    std::vector<LayoutRange> owned;
    if (recipe_.zero) owned = plan_.shares(communicator_.rank(), communicator_.size());
    return recipe_.adamw ? make_adamw(context_, store_, {}, owned)
                         : make_sgd(context_, store_, {.momentum = 0.9}, owned);
  }
  std::unique_ptr<GradientNorm> make_norm() {
    if (recipe_.zero) return std::make_unique<ShardedNorm>(context_, communicator_, plan_, store_);
    return std::make_unique<GradientNorm>(context_, store_);
  }

  void plan(MemoryPlan& memory) {
    x_ = memory.saved.allocate(input(recipe_.batch));
    targets_ = memory.saved.allocate(DType::i32, {recipe_.batch * task_.positions});
    module_->plan(memory, x_.spec());
  }

  bool counts(int sample) const { return !recipe_.ragged || sample % 3 != 0; }

  /// Sample `number` of the step's global batch goes to row `row` of the micro-batch.
  void draw_sample(int step, int number, int row) {
    Philox random(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(number));
    const auto n = task_.sample.shape[0];
    for (std::int64_t i = 0; i < n; ++i) {
      if (x_.dtype() == DType::i32)
        x_.as<std::int32_t>()[row * n + i] = static_cast<std::int32_t>(random() % task_.classes);
      else
        x_.as<float>()[row * n + i] = static_cast<float>(random.normal());
    }
    for (std::int64_t i = 0; i < task_.positions; ++i) {
      const auto target = static_cast<std::int32_t>(random() % task_.classes);
      targets_.as<std::int32_t>()[row * task_.positions + i] = counts(number) ? target : -1;
    }
  }

  /// 1/N, N the targets of the whole step that count.
  double seed() const {
    std::int64_t targets = 0;
    for (int i = 0; i < recipe_.batch * recipe_.accumulate * communicator_.size(); ++i)
      if (counts(i)) targets += task_.positions;
    return 1.0 / static_cast<double>(targets);
  }

  /// This rank's part of the step's mean loss.
  double train_step(int step) {
    store_.start_accumulation();
    loss_.start_accumulation();
    loss_.set_seed(seed());
    for (int k = 0; k < recipe_.accumulate; ++k) {
      const int first = (k * communicator_.size() + communicator_.rank()) * recipe_.batch;
      for (int row = 0; row < recipe_.batch; ++row) draw_sample(step, first + row, row);
      reducer_.start_backward(/*sync=*/k + 1 == recipe_.accumulate);
      const Tensor logits = module_->forward(context_, x_);
      loss_.forward_backward(logits, targets_);
      module_->backward(context_, logits, reducer_);
    }
    reducer_.finish();
    optimizer_->start_step(recipe_.adamw ? 1e-3 : 0.05);
    if (recipe_.clip > 0) {
      for (const Bucket& bucket : reducer_.buckets()) reducer_.wait(bucket);
      norm_->compute();
      norms_.push_back(*norm_->value().as<double>());
      optimizer_->clip(*norm_, recipe_.clip);
    }
    for (const Bucket& bucket : reducer_.buckets()) {
      reducer_.wait(bucket);
      optimizer_->update_slice(bucket.spec->offset, bucket.spec->numel);
    }
    if (gather_) gather_->start();
    return *loss_.share().as<double>();
  }

  Context& context_;
  Communicator& communicator_;
  Task task_;
  Recipe recipe_;
  std::unique_ptr<Module> module_;
  BucketPlan plan_;
  ParameterStore store_;
  CrossEntropyLoss loss_;
  Tensor x_, targets_;
  PlannedMemory memory_;
  std::unique_ptr<CommHook> hook_;
  Reducer reducer_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<GradientNorm> norm_;
  std::optional<ParameterGather> gather_;
  std::vector<double> losses_, norms_;
};

}  // namespace tandem::testing

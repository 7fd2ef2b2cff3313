#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/base/philox.h"
#include "core/tensor/planned_memory.h"
#include "ddp/ready_order.h"
#include "ddp/reducer.h"
#include "ddp/replicate.h"
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
};

/// Trains by SGD with momentum on samples that depend on their global number alone, so that any split over
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
        reducer_(context, communicator, plan_, store_, recipe.reducer),
        sgd_(make_sgd(context, store_, {.momentum = 0.9})) {
    store_.initialize(context, 1 + communicator.rank());  // replicate() makes them equal
    replicate(context, communicator, plan_, store_);
    for (int step = 0; step < recipe.steps; ++step) losses_.push_back(train_step(step));
  }

  const BucketPlan& plan() const { return plan_; }
  const ParameterStore& store() const { return store_; }
  const ParameterList& parameters() const { return store_.parameters(); }
  /// This rank's part of each step's mean loss.
  const std::vector<double>& losses() const { return losses_; }

 private:
  TensorSpec input(std::int64_t batch) const { return {task_.sample.dtype, {batch, task_.sample.shape[0]}}; }

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
    sgd_->start_step(0.05);
    for (const Bucket& bucket : reducer_.buckets()) {
      reducer_.wait(bucket);
      sgd_->update_slice(bucket.spec->offset, bucket.spec->numel);
    }
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
  Reducer reducer_;
  std::unique_ptr<Optimizer> sgd_;
  std::vector<double> losses_;
};

}  // namespace tandem::testing

// A model and data of your own, trained data-parallel in one page:  mpirun -np 2 build/minimal_ddp
#include <cmath>

#include <fmt/format.h>

#include "core/comm/world.h"
#include "core/tensor/planned_memory.h"
#include "dataloader/data_loader.h"
#include "ddp/ready_order.h"
#include "ddp/reducer.h"
#include "ddp/replicate.h"
#include "models/layers/activation.h"
#include "models/layers/linear.h"
#include "models/layers/sequential.h"
#include "models/loss.h"
#include "optim/optimizer.h"

using namespace tandem;
/// Data of your own: two spiral arms, to be told apart by their coordinates.
struct Spirals final : Dataset {
  std::int64_t size() const override { return 4096; }
  TensorSpec input() const override { return {DType::f32, {2}}; }
  TensorSpec target() const override { return {DType::i32, {1}}; }
  std::int64_t classes() const override { return 2; }
  std::string describe() const override { return "two spirals"; }
  void fetch(std::int64_t index, Philox& random, const Tensor& input, const Tensor& target) const override {
    const double arm = static_cast<double>(index % 2), angle = 6.0 * random.uniform();
    input.as<float>()[0] = static_cast<float>(angle * std::cos(angle + arm * M_PI) / 6);
    input.as<float>()[1] = static_cast<float>(angle * std::sin(angle + arm * M_PI) / 6);
    target.as<std::int32_t>()[0] = static_cast<std::int32_t>(arm);
  }
};

int main() {
  Context context = Context::cpu();
  auto world = World::join(context);  // all ranks that mpirun started; one without it
  Communicator& comm = world->comm();

  // One replica per rank: buckets in the order in which gradients become final; all start as rank 0.
  constexpr std::int64_t kBatch = 64;
  Sequential net;  // a model of your own: modules in a row
  net.add<Linear>("in", 2, 128);
  net.add<Activation>(ops::Activation::relu);
  net.add<Linear>("middle", 128, 128);
  net.add<Activation>(ops::Activation::relu);
  net.add<Linear>("out", 128, 2);
  const TensorSpec input{DType::f32, {kBatch, 2}};
  const ParameterList ready = trace_ready_order(context, net, input);
  const BucketPlan plan = BucketPlan::make(net.parameters(), ready, {.cap_mb = 0.05}, comm.size());
  ParameterStore store = ParameterStore::allocate(context, plan.layout, net.parameters());
  store.initialize(context, /*seed=*/1);
  replicate(context, comm, plan, store);

  CrossEntropyLoss loss(context);
  PlannedMemory memory(context, [&](MemoryPlan& m) { net.plan(m, input); });
  auto optimizer = make_adamw(context, store, {.weight_decay = 0.01});
  DataLoader loader(context, std::make_shared<Spirals>(),
                    {.dataset_size = 4096, .batch = kBatch, .rank = comm.rank(), .ranks = comm.size()});
  Reducer reducer(context, comm, plan, store, {});

  for (int step = 0; step < 500; ++step) {
    const Batch& batch = loader.next();
    store.start_accumulation();
    const Tensor logits = net.forward(context, batch.inputs);
    loss.set_seed(1.0 / static_cast<double>(batch.step_valid_targets));  // over all ranks
    loss.forward_backward(logits, batch.targets);
    reducer.start_backward(/*sync=*/true);
    net.backward(context, logits, reducer);  // buckets leave as they fill
    reducer.finish();
    optimizer->start_step(/*lr=*/3e-3);
    for (const Bucket& bucket : reducer.buckets()) {
      reducer.wait(bucket);
      optimizer->update_slice(bucket.spec->offset, bucket.spec->numel);
    }
    if (step % 100 == 99 && comm.rank() == 0)
      fmt::print("step {}: {} of {} right here\n", step + 1, loss.read().correct, batch.valid_targets);
  }
}

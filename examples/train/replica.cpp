#include "examples/train/replica.h"

#include "ddp/ready_order.h"

namespace tandem::train {

namespace {

BucketPlan plan_gradients(Context& context, Module& model, const Setup& setup) {
  const ParameterList defined = model.parameters();
  const Options& o = setup.options;
  if (!o.ddp) return {.buckets = {}, .layout = ParameterLayout::in_order(defined)};

  BucketOptions buckets{.cap_mb = o.bucket_mb, .first_cap_mb = o.first_bucket_mb};
  if (o.bucket_order == "reverse") buckets.order = BucketOrder::reverse;
  if (o.bucket_order == "forward") buckets.order = BucketOrder::forward;
  // The order does not depend on sizes: one sample will do, of one token for gpt.
  const TensorSpec full = setup.model_input();
  const TensorSpec one_sample{full.dtype, {1, setup.config.is_gpt() ? 1 : full.shape.last()}};
  return BucketPlan::make(defined, trace_ready_order(context, model, one_sample), buckets,
                          setup.sampler.ranks);
}

auto planner(Module& model, CrossEntropyLoss& loss, const Setup& setup) {
  return [&, input = setup.model_input()](MemoryPlan& memory) {
    model.plan(memory, input);
    loss.plan(memory);
  };
}

MemoryTable count_memory(const Context& context, Module& model, const BucketPlan& plan, const Setup& setup) {
  const Options& o = setup.options;
  const auto flat = plan.layout.numel() * static_cast<std::int64_t>(size_of(plan.layout.dtype()));
  const int states = o.optimizer == "adamw" ? 2 : o.momentum > 0 ? 1 : 0;
  CrossEntropyLoss loss;
  const auto planned = PlannedMemory::measure(context, planner(model, loss, setup));
  const TensorSpec input = setup.data.train->input(), target = setup.data.train->target();
  const auto sample_bytes = input.shape.numel() * static_cast<std::int64_t>(size_of(input.dtype)) +
                            target.shape.numel() * static_cast<std::int64_t>(size_of(target.dtype));
  return {.parameters = flat,
          .gradients = flat,
          .optimizer = states * flat,
          .activations = planned.saved,
          .scratch = planned.scratch,
          .bucket_copies = o.ddp && !o.gradient_as_bucket_view ? flat : 0,
          .batches = sample_bytes * setup.batch() * (o.workers > 0 ? o.prefetch + 1 : 1)};
}

std::unique_ptr<Optimizer> make_optimizer(Context& context, ParameterStore& store, const Options& o) {
  if (o.optimizer == "sgd")
    return make_sgd(context, store,
                    {.momentum = o.momentum, .nesterov = o.nesterov, .weight_decay = *o.weight_decay});
  return make_adamw(context, store,
                    {.beta1 = o.betas[0], .beta2 = o.betas[1], .weight_decay = *o.weight_decay});
}

}  // namespace

Blueprint::Blueprint(Context& context, const Setup& setup) : model(make_model(setup.config)) {
  model->set_input_gradient(false);
  plan = plan_gradients(context, *model, setup);
  memory = count_memory(context, *model, plan, setup);
}

Replica::Replica(Context& context, const Setup& setup, Blueprint blueprint)
    : blueprint_(std::move(blueprint)),
      model(*blueprint_.model),
      plan(blueprint_.plan),
      store(ParameterStore::allocate(context, plan.layout, model.parameters())),
      optimizer(make_optimizer(context, store, setup.options)),
      gradient_norm(context, store),
      memory_(context, planner(model, loss, setup)) {
  store.initialize(setup.options.seed);
}

}  // namespace tandem::train

#include "examples/train/replica.h"

#include "core/ops/convert.h"
#include "ddp/ready_order.h"
#include "examples/train/comm_hook.h"
#include "examples/train/device.h"
#include "examples/train/sharding.h"

namespace tandem::train {

BucketOptions bucket_options(const Options& o) {
  BucketOptions buckets{.cap_mb = o.bucket_mb, .first_cap_mb = o.first_bucket_mb};
  buckets.grad_dtype = gradient_dtype(o);
  if (o.bucket_order == "reverse") buckets.order = BucketOrder::reverse;
  if (o.bucket_order == "forward") buckets.order = BucketOrder::forward;
  return buckets;
}

namespace {

BucketPlan plan_gradients(Module& model, const Setup& setup) {
  const ParameterList defined = model.parameters();
  const Options& o = setup.options;
  if (!o.ddp) return {.buckets = {}, .layout = ParameterLayout::in_order(defined)};

  // The order does not depend on sizes: one sample will do, of one token for gpt.
  const TensorSpec full = setup.model_input();
  const TensorSpec one_sample{full.dtype, {1, setup.config.is_gpt() ? 1 : full.shape.last()}};
  Context dry = Context::dry();
  return BucketPlan::make(defined, trace_ready_order(dry, model, one_sample), bucket_options(o),
                          setup.sampler.ranks);
}

/// What this rank updates: nothing means all.
std::vector<LayoutRange> owned(const BucketPlan& plan, const Setup& setup) {
  if (setup.options.zero == 0) return {};
  return plan.shares(setup.sampler.rank, setup.sampler.ranks);
}

std::int64_t communication_bytes(CommHook& hook, const BucketPlan& plan, const Setup& setup) {
  if (!setup.options.ddp) return 0;
  const int ranks = setup.sampler.ranks;
  return hook_bytes(hook, plan) + (shards_norm(setup.options) ? sharded_norm_memory(plan, ranks) : 0);
}

MemoryTable count_memory(const Context& context, Module& model, const BucketPlan& plan, CommHook& hook,
                         const Setup& setup) {
  const Options& o = setup.options;
  const auto flat = [&](DType dtype) {
    return plan.layout.numel() * static_cast<std::int64_t>(size_of(dtype));
  };
  const DType values = plan.layout.dtype(), masters = accumulator_of(values), grads = gradient_dtype(o);
  const int states = o.optimizer == "adamw" ? 2 : o.momentum > 0 ? 1 : 0;
  const auto planned =
      PlannedMemory::measure(context, [&](MemoryPlan& memory) { model.plan(memory, setup.model_input()); });
  const TensorSpec input = setup.data.train->input(), target = setup.data.train->target();
  const auto sample_bytes = input.shape.numel() * static_cast<std::int64_t>(size_of(input.dtype)) +
                            target.shape.numel() * static_cast<std::int64_t>(size_of(target.dtype));
  return {.parameters = flat(values) + (masters == values ? 0 : flat(masters)),
          .gradients = flat(grads),
          .optimizer = states * flat(masters) / (o.zero > 0 ? setup.sampler.ranks : 1),
          .activations = planned.saved,
          .scratch = planned.scratch,
          .bucket_copies = o.ddp && !o.gradient_as_bucket_view ? flat(grads) : 0,
          .communication = communication_bytes(hook, plan, setup),
          .batches = sample_bytes * setup.batch() * (o.workers > 0 ? o.prefetch + 1 : 1)};
}

std::unique_ptr<Optimizer> make_optimizer(Context& context, ParameterStore& store, const Options& o,
                                          const std::vector<LayoutRange>& owned) {
  if (o.optimizer == "sgd")
    return make_sgd(context, store,
                    {.momentum = o.momentum, .nesterov = o.nesterov, .weight_decay = *o.weight_decay}, owned);
  return make_adamw(context, store,
                    {.beta1 = o.betas[0], .beta2 = o.betas[1], .weight_decay = *o.weight_decay}, owned);
}

}  // namespace

Blueprint::Blueprint(const Context& context, const Setup& setup) : model(make_model(setup.config)) {
  model->set_input_gradient(false);
  for (Parameter* parameter : model->parameters()) parameter->dtype = compute_dtype(setup.options);
  plan = plan_gradients(*model, setup);
  hook = make_hook(setup.options);
  memory = count_memory(context, *model, plan, *hook, setup);
}

Replica::Replica(Context& context, const Setup& setup, Blueprint blueprint)
    : blueprint_(std::move(blueprint)),
      model(*blueprint_.model),
      plan(blueprint_.plan),
      hook(*blueprint_.hook),
      store(
          ParameterStore::allocate(context, plan.layout, model.parameters(), gradient_dtype(setup.options))),
      loss(context, classes_of(setup.config)),
      optimizer(make_optimizer(context, store, setup.options, owned(plan, setup))),
      gradient_norm(context, store),
      memory_(context, [&](MemoryPlan& memory) {
        const TensorSpec input = setup.model_input();
        if (input.dtype != setup.data.train->input().dtype) converted_ = memory.saved.allocate(input);
        model.plan(memory, input);
      }) {
  if (!setup.init)
    store.initialize(context, setup.options.seed);
  else if (setup.sampler.rank == 0)  // replicate() brings the values to the others
    setup.init->load(context, store);
  if (compute_dtype(setup.options) != DType::f16) return;
  loss_scale.emplace(context);
  loss.set_scale(loss_scale->scale());
}

Tensor Replica::forward(Context& context, const Tensor& inputs) {
  if (!converted_) return model.forward(context, inputs);
  ops::convert(context, inputs, converted_);
  return model.forward(context, converted_);
}

}  // namespace tandem::train

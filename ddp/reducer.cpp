#include "ddp/reducer.h"

#include <algorithm>
#include <string>

#include "core/tensor/copy.h"

namespace tandem {

namespace {

bool same_layout(const ParameterLayout& a, const ParameterLayout& b) {
  return a.numel() == b.numel() && std::equal(a.entries().begin(), a.entries().end(), b.entries().begin(),
                                              b.entries().end(), [](const auto& x, const auto& y) {
                                                return x.parameter == y.parameter && x.offset == y.offset;
                                              });
}

}  // namespace

Reducer::Reducer(Context& context, Communicator& communicator, const BucketPlan& plan,
                 const ParameterStore& store, ReducerOptions options, CommObserver* observer)
    : context_(&context),
      communicator_(&communicator),
      observer_(observer),
      options_(options),
      plan_(&plan),
      default_hook_(options.hook ? nullptr : make_plain_hook()),
      hook_(options.hook ? options.hook : default_hook_.get()),
      scope_(communicator, context.comm()) {
  require(same_layout(plan.layout, store.layout()), "the parameters do not lie where the bucket plan says");
  buckets_.reserve(plan.buckets.size());
  for (const BucketSpec& spec : plan.buckets) add_bucket(spec, store);
  Arena measure;
  plan_memory(measure);
  memory_ = Arena(context, measure.peak());
  plan_memory(memory_);
  memory_.seal();
}

void Reducer::plan_memory(Arena& arena) {
  for (Bucket& bucket : buckets_) {
    const Tensor flat = options_.gradient_as_bucket_view ? bucket.grads : arena.allocate(bucket.grads.spec());
    bucket.reduced = BucketGradients::view(*plan_, bucket.index, flat);
    hook_->plan(bucket.reduced, arena);
  }
}

void Reducer::add_bucket(const BucketSpec& spec, const ParameterStore& store) {
  Bucket bucket;
  bucket.index = static_cast<int>(buckets_.size());
  bucket.spec = &spec;
  bucket.grads = store.grads().slice(spec.offset, spec.numel);
  bucket.ready = context_->make_event();
  bucket.done = context_->make_event();
  for (Parameter* parameter : spec.parameters) {
    require(parameter->uses >= 1, "parameter '{}' is used {} times", parameter->name, parameter->uses);
    slot_of_[parameter] = slots_.size();
    slots_.push_back({parameter, bucket.index});
  }
  buckets_.push_back(std::move(bucket));
}

void Reducer::start_backward(bool sync) {
  for (const Bucket& bucket : buckets_)
    if (bucket.in_flight) wait(bucket);
  if (sync_ && options_.communicate) keep_sum_on_first_rank();

  sync_ = sync;
  launched_ = 0;
  for (Bucket& bucket : buckets_) bucket.pending = 0;
  for (Slot& slot : slots_) {
    slot.seen = 0;
    buckets_[slot.bucket].pending += slot.parameter->uses;
  }
}

/// The last micro-batch was reduced: every rank holds the same sum, and reducing it again would count it once
/// per rank. Rank 0 adds to it; the others start anew. (At the start of a step all start anew already.)
void Reducer::keep_sum_on_first_rank() {
  if (communicator_->rank() == 0) return;
  for (Slot& slot : slots_) slot.parameter->start_accumulation();
}

void Reducer::ready(Parameter& parameter) {
  if (parameter.frozen) return;
  const auto found = slot_of_.find(&parameter);
  require(found != slot_of_.end(), "parameter '{}' is in no bucket", parameter.name);
  Slot& slot = slots_[found->second];
  ++slot.seen;
  require(slot.seen <= parameter.uses,
          "the gradient of '{}' became ready {} times in one backward, not {}: its `uses` is wrong, or "
          "start_backward() was not called",
          parameter.name, slot.seen, parameter.uses);

  Bucket& bucket = buckets_[slot.bucket];
  if (!sync_ || --bucket.pending > 0) return;
  if (observer_) observer_->bucket_ready(bucket.index, context_->compute());
  if (options_.overlap) launch_full_buckets();
}

void Reducer::finish() {
  require(sync_, "finish() after a backward that was not to synchronise");
  require_all_touched();
  for (Bucket& bucket : buckets_) {
    if (bucket.pending == 0) continue;
    bucket.pending = 0;
    if (observer_) observer_->bucket_ready(bucket.index, context_->compute());
  }
  launch_full_buckets();
}

void Reducer::require_all_touched() const {
  std::string names;
  for (const Slot& slot : slots_)
    if (!slot.parameter->grad_written()) names += (names.empty() ? "'" : ", '") + slot.parameter->name + "'";
  require(names.empty(),
          "no backward of this step wrote the gradient of {}: freeze it, or let the loss depend on it",
          names);
}

void Reducer::launch_full_buckets() {
  while (launched_ < buckets_.size() && buckets_[launched_].pending == 0) launch(buckets_[launched_++]);
}

void Reducer::launch(Bucket& bucket) {
  Stream &compute = context_->compute(), &comm = context_->comm();
  if (!options_.gradient_as_bucket_view) copy(compute, bucket.grads, bucket.reduced.flat);
  bucket.in_flight = true;
  if (!options_.communicate) return;

  compute.record(bucket.ready);
  comm.wait(bucket.ready);
  if (observer_) observer_->bucket_start(bucket.index, comm);
  if (bucket.grads.numel() > 0) hook_->run(bucket.reduced, *communicator_, *context_);
  if (observer_) observer_->bucket_end(bucket.index, comm);
  comm.record(bucket.done);
}

void Reducer::wait(const Bucket& waited) {
  Bucket& bucket = buckets_.at(static_cast<std::size_t>(waited.index));
  require(static_cast<std::size_t>(bucket.index) < launched_,
          "bucket {} is waited for before it was launched: call finish() first", bucket.index);
  if (!bucket.in_flight) return;

  Stream& compute = context_->compute();
  if (options_.communicate) {
    if (observer_) observer_->wait_start(bucket.index, compute);
    compute.wait(bucket.done);
    if (observer_) observer_->wait_end(bucket.index, compute);
  }
  if (!options_.gradient_as_bucket_view) copy(compute, bucket.reduced.flat, bucket.grads);
  bucket.in_flight = false;
}

}  // namespace tandem

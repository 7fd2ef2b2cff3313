#include "ddp/comm_hook.h"

#include <algorithm>
#include <bit>

#include "core/ops/convert.h"

namespace tandem {

namespace {

void reduce(Communicator& communicator, const Tensor& buffer, SumOn where, Stream& stream) {
  if (where == SumOn::all_ranks)
    communicator.all_reduce(buffer, ReduceOp::sum, stream);
  else
    communicator.reduce_scatter(buffer, ReduceOp::sum, stream);
}

/// What holds the sum afterwards.
Tensor summed_part(const Tensor& buffer, SumOn where, const Communicator& communicator) {
  if (where == SumOn::all_ranks) return buffer;
  const std::int64_t share = buffer.numel() / communicator.size();
  return buffer.slice(communicator.rank() * share, share);
}

std::int64_t as_all_reduce(const Tensor& buffer, SumOn where) {
  return where == SumOn::all_ranks ? buffer.bytes() : buffer.bytes() / 2;
}

class PlainHook final : public CommHook {
 public:
  explicit PlainHook(SumOn where) : where_(where) {}

  void run(const BucketGradients& bucket, Communicator& communicator, Context& context) override {
    reduce(communicator, bucket.flat, where_, context.comm());
  }
  std::int64_t wire_bytes(const BucketGradients& bucket) const override {
    return as_all_reduce(bucket.flat, where_);
  }

 private:
  SumOn where_;
};

class CastHook final : public CommHook {
 public:
  CastHook(DType wire, SumOn where) : wire_(wire), where_(where) {}

  void plan(const BucketGradients& bucket, Arena& arena) override {
    buckets_.resize(std::max(buckets_.size(), static_cast<std::size_t>(bucket.index) + 1));
    buckets_.at(bucket.index) = {.own = bucket.flat, .sent = arena.allocate(wire_, bucket.flat.shape())};
  }

  void run(const BucketGradients& bucket, Communicator& communicator, Context& context) override {
    Sent& b = buckets_.at(bucket.index);
    b.sum = summed_part(b.sent, where_, communicator);
    b.sum_to = summed_part(b.own, where_, communicator);
    const float scale = wire_ == DType::f16
                            ? static_cast<float>(std::bit_ceil(static_cast<unsigned>(communicator.size())))
                            : 1;
    context.on_comm([&b, scale](Context& c) { ops::convert(c, b.own, b.sent, 1 / scale); });
    reduce(communicator, b.sent, where_, context.comm());
    context.on_comm([&b, scale](Context& c) { ops::convert(c, b.sum, b.sum_to, scale); });
  }

  std::int64_t wire_bytes(const BucketGradients& bucket) const override {
    return as_all_reduce(buckets_.at(bucket.index).sent, where_);
  }

 private:
  /// What the comm stream's tasks refer to.
  struct Sent {
    Tensor own, sent;              // the gradients; the same in `wire_`
    Tensor sum = {}, sum_to = {};  // what is read of `sent` afterwards, and where it goes
  };

  DType wire_;
  SumOn where_;
  std::vector<Sent> buckets_;
};

/// Plans all buckets over `arena`, with no memory for the gradients.
std::vector<BucketGradients> plan_all(CommHook& hook, const BucketPlan& plan, Arena& arena) {
  std::vector<BucketGradients> all;
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    const Tensor flat(nullptr, plan.grad_dtype, {plan.buckets[i].numel});
    all.push_back(BucketGradients::view(plan, static_cast<int>(i), flat));
    hook.plan(all.back(), arena);
  }
  return all;
}

}  // namespace

BucketGradients BucketGradients::view(const BucketPlan& plan, int index, const Tensor& flat) {
  const BucketSpec& spec = plan.buckets.at(index);
  BucketGradients bucket{index, &spec, flat, {}};
  std::size_t entry = 0;  // the layout holds the parameters in the same order as the buckets do
  for (int i = 0; i < index; ++i) entry += plan.buckets[i].parameters.size();
  for (const Parameter* parameter : spec.parameters) {
    const std::int64_t offset = plan.layout.entries().at(entry++).offset - spec.offset;
    bucket.gradients.push_back(flat.slice(offset, parameter->numel()).reshape(parameter->shape));
  }
  return bucket;
}

std::unique_ptr<CommHook> make_plain_hook(SumOn where) {
  return std::make_unique<PlainHook>(where);
}

std::unique_ptr<CommHook> make_cast_hook(DType wire, SumOn where) {
  require(wire == DType::bf16 || wire == DType::f16 || wire == DType::f32, "gradients sent as {}",
          name_of(wire));
  return std::make_unique<CastHook>(wire, where);
}

std::int64_t hook_bytes(CommHook& hook, const BucketPlan& plan) {
  Arena measure;
  plan_all(hook, plan, measure);
  return measure.peak();
}

std::vector<std::int64_t> wire_bytes(CommHook& hook, const BucketPlan& plan) {
  Arena measure;
  std::vector<std::int64_t> bytes;
  for (const BucketGradients& bucket : plan_all(hook, plan, measure))
    bytes.push_back(hook.wire_bytes(bucket));
  return bytes;
}

}  // namespace tandem

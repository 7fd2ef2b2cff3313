#include "ddp/bucket_plan.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace tandem {

namespace {

constexpr double kMaxCapMb = 1 << 20;  // 1 TiB: more is a slip of the pen

std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

std::int64_t cap_bytes(double mb, const char* option) {
  if (!(mb > 0 && mb <= kMaxCapMb))
    throw UsageError("{} is {}: give a number of MiB above 0 and up to {:.0f}", option, mb, kMaxCapMb);
  return static_cast<std::int64_t>(mb * (1 << 20));
}

/// `ready` followed by what of `defined` is missing there.
ParameterList complete(const ParameterList& ready, const ParameterList& defined) {
  const std::unordered_set<Parameter*> known(defined.begin(), defined.end());
  std::unordered_set<Parameter*> taken;
  ParameterList order;
  for (Parameter* p : ready) {
    require(known.contains(p), "parameter '{}' becomes ready but is not one of the model's", p->name);
    require(taken.insert(p).second, "parameter '{}' is twice in the ready order", p->name);
    order.push_back(p);
  }
  for (Parameter* p : defined)
    if (!taken.contains(p)) order.push_back(p);
  return order;
}

/// The trainable parameters in launch order.
ParameterList launch_order(const ParameterList& defined, const ParameterList& ready, BucketOrder order) {
  std::unordered_set<Parameter*> seen;
  for (Parameter* p : defined) require(seen.insert(p).second, "parameter '{}' is listed twice", p->name);

  ParameterList list = order == BucketOrder::ready ? complete(ready, defined) : defined;
  if (order == BucketOrder::reverse) std::reverse(list.begin(), list.end());
  std::erase_if(list, [](const Parameter* p) { return p->frozen; });
  return list;
}

/// Elements that buckets are padded to: world · 128 bytes, or more where an offset needs more.
std::int64_t padding_unit(DType dtype, int world_size) {
  const auto elements = 128 / static_cast<std::int64_t>(size_of(dtype));
  return world_size * std::max(elements, ParameterLayout::kAlignment);
}

/// Bytes of the last bucket, padding included, if `p` joined it.
std::int64_t bytes_with(const BucketPlan& plan, const Parameter& p, std::int64_t unit) {
  const std::int64_t used = plan.layout.numel() - plan.buckets.back().offset;
  const std::int64_t numel = round_up(used, ParameterLayout::kAlignment) + p.numel();
  return round_up(numel, unit) * static_cast<std::int64_t>(size_of(plan.grad_dtype));
}

void open_bucket(BucketPlan& plan, std::int64_t unit) {
  plan.layout.pad_to(unit);  // ends the bucket before
  plan.buckets.push_back({.parameters = {}, .offset = plan.layout.numel()});
}

void add(BucketPlan& plan, Parameter& p, std::int64_t unit) {
  BucketSpec& bucket = plan.buckets.back();
  plan.layout.append(p);
  bucket.parameters.push_back(&p);
  bucket.numel = round_up(plan.layout.numel() - bucket.offset, unit);
  bucket.payload_bytes += p.numel() * static_cast<std::int64_t>(size_of(plan.grad_dtype));
}

}  // namespace

BucketPlan BucketPlan::make(const ParameterList& defined, const ParameterList& ready,
                            const BucketOptions& options, int world_size) {
  require(world_size >= 1, "a bucket plan for {} ranks", world_size);
  const std::int64_t cap = cap_bytes(options.cap_mb, "--bucket-mb");
  const std::int64_t first_cap = std::min(cap, cap_bytes(options.first_cap_mb, "--first-bucket-mb"));

  BucketPlan plan;
  for (Parameter* p : launch_order(defined, ready, options.order)) {
    plan.grad_dtype = options.grad_dtype.value_or(p->dtype);
    const std::int64_t unit = padding_unit(p->dtype, world_size);
    const std::int64_t limit = plan.buckets.size() <= 1 ? first_cap : cap;
    if (plan.buckets.empty() || bytes_with(plan, *p, unit) > limit) open_bucket(plan, unit);
    add(plan, *p, unit);
  }
  plan.layout.pad_to(padding_unit(plan.layout.dtype(), world_size));
  return plan;
}

std::vector<LayoutRange> BucketPlan::shares(int rank, int ranks) const {
  std::vector<LayoutRange> shares;
  for (const BucketSpec& bucket : buckets) {
    require(bucket.numel % ranks == 0, "a bucket of {} elements for {} ranks", bucket.numel, ranks);
    const std::int64_t share = bucket.numel / ranks;
    shares.push_back({bucket.offset + rank * share, share});
  }
  return shares;
}

}  // namespace tandem

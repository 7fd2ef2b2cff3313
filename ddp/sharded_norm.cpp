#include "ddp/sharded_norm.h"

#include <algorithm>

#include "core/tensor/copy.h"
#include "optim/segments.h"

namespace tandem {

namespace {

constexpr std::int64_t kChunk = ops::SegmentTable::kChunk;

/// Calls f(chunk) for the parts that GradientNorm sums by themselves, in definition order.
template <class F>
void for_each_chunk(const ParameterStore& store, F&& f) {
  for (const ops::Segment& segment : segments_in_definition_order(store))
    for (std::int64_t at = 0; at < segment.count; at += kChunk)
      f(LayoutRange{segment.offset + at, std::min(kChunk, segment.count - at)});
}

bool begins_in(const LayoutRange& chunk, std::span<const LayoutRange> shares) {
  return std::any_of(shares.begin(), shares.end(), [&](const LayoutRange& share) {
    return chunk.offset >= share.offset && chunk.offset < share.end();
  });
}

/// All chunks, those that begin on another rank's share empty.
std::vector<ops::Segment> own_chunks(const ParameterStore& store, std::span<const LayoutRange> shares) {
  std::vector<ops::Segment> segments;
  for_each_chunk(store, [&](const LayoutRange& chunk) {
    segments.push_back({chunk.offset, begins_in(chunk, shares) ? chunk.numel : 0, 1, 0});
  });
  return segments;
}

/// How much of a bucket's shares belongs to chunks that began before them: on the rank with the most.
std::int64_t head_of(const BucketPlan& plan, const BucketSpec& bucket, int ranks) {
  const std::int64_t share = bucket.numel / ranks;
  std::int64_t head = 0;
  for (const auto& [parameter, offset] : plan.layout.entries())
    for (int rank = 1; rank < ranks; ++rank) {
      const std::int64_t before =
          bucket.offset + rank * share - offset;  // of the parameter, before the share
      if (before <= 0 || before >= parameter->numel() || before % kChunk == 0) continue;
      head = std::max(head, std::min({kChunk - before % kChunk, parameter->numel() - before, share}));
    }
  return head;
}

/// The heads of all ranks' shares of all buckets.
TensorSpec heads_of(const BucketPlan& plan, int ranks) {
  std::int64_t block = 0;
  for (const BucketSpec& bucket : plan.buckets) block += head_of(plan, bucket, ranks);
  return {plan.grad_dtype, {ranks * block}};
}

}  // namespace

NormBytes sharded_norm_bytes(const BucketPlan& plan, int ranks) {
  std::int64_t chunks = 0;
  for (const auto& entry : plan.layout.entries()) chunks += (entry.parameter->numel() + kChunk - 1) / kChunk;
  return {.heads = sharded_norm_memory(plan, ranks) / 2,
          .sums = chunks * static_cast<std::int64_t>(sizeof(double))};
}

std::int64_t sharded_norm_memory(const BucketPlan& plan, int ranks) {
  const TensorSpec heads = heads_of(plan, ranks);
  return heads.shape.numel() * static_cast<std::int64_t>(size_of(heads.dtype));
}

ShardedNorm::ShardedNorm(Context& context, Communicator& communicator, const BucketPlan& plan,
                         const ParameterStore& store, CommObserver* observer)
    : GradientNorm(context, store.grads(),
                   own_chunks(store, plan.shares(communicator.rank(), communicator.size()))),
      communicator_(&communicator),
      observer_(observer),
      first_id_(static_cast<int>(2 * plan.buckets.size())),
      ready_(context.make_event()),
      done_(context.make_event()) {
  const TensorSpec heads = heads_of(plan, communicator.size());
  Arena measure;
  measure.allocate(heads);
  memory_ = Arena(context, measure.peak());
  heads_ = memory_.allocate(heads);
  memory_.seal();
  find_seams(plan, store);
}

void ShardedNorm::find_seams(const BucketPlan& plan, const ParameterStore& store) {
  const int ranks = communicator_->size(), own = communicator_->rank();
  const std::int64_t block = heads_.numel() / ranks;
  const auto shares = plan.shares(own, ranks);
  std::int64_t at = 0;  // of this bucket in each block
  for (const BucketSpec& bucket : plan.buckets) {
    const std::int64_t share = bucket.numel / ranks, head = head_of(plan, bucket, ranks);
    if (head == 0) continue;
    out_.push_back(
        {store.grads().slice(bucket.offset + own * share, head), heads_.slice(own * block + at, head)});
    for_each_chunk(store, [&](const LayoutRange& chunk) {
      if (!begins_in(chunk, shares)) return;
      for (int rank = own + 1; rank < ranks; ++rank) {
        const std::int64_t start = bucket.offset + rank * share;
        const LayoutRange rest = LayoutRange{start, head}.within(chunk);
        if (rest.numel == 0) continue;
        in_.push_back({heads_.slice(rank * block + at + rest.offset - start, rest.numel),
                       store.grads().slice(rest.offset, rest.numel)});
      }
    });
    at += head;
  }
}

void ShardedNorm::compute() {
  Stream& compute = context().compute();
  if (heads_.numel() > 0) {
    for (const Copy& c : out_) copy(compute, c.from, c.to);
    communicate(first_id_, [&](Stream& comm) { communicator_->all_gather(heads_, comm); });
    for (const Copy& c : in_) copy(compute, c.from, c.to);
  }
  sum_chunks();
  if (communicator_->size() > 1)
    communicate(first_id_ + 1, [&](Stream& comm) { communicator_->all_reduce(sums(), ReduceOp::sum, comm); });
  add_sums();
}

/// A collective on what the compute stream has just written, which then waits for it.
template <class Collective>
void ShardedNorm::communicate(int id, Collective&& collective) {
  Stream &compute = context().compute(), &comm = context().comm();
  compute.record(ready_);
  comm.wait(ready_);
  if (observer_) observer_->bucket_ready(id, compute);
  if (observer_) observer_->bucket_start(id, comm);
  collective(comm);
  if (observer_) observer_->bucket_end(id, comm);
  comm.record(done_);
  if (observer_) observer_->wait_start(id, compute);
  compute.wait(done_);
  if (observer_) observer_->wait_end(id, compute);
}

}  // namespace tandem

#include "ddp/replicate.h"

#include <vector>

#include "ddp/agreement.h"
#include "ddp/hash.h"

namespace tandem {

namespace {

std::string describe(const Parameter& p) {
  return fmt::format("'{}' {} {}", p.name, name_of(p.dtype), p.shape.str());
}

Fingerprint fingerprint_of(std::string text) {
  const std::uint64_t hash = Hash().add(text).value();
  return {hash, std::move(text)};
}

/// What must be the same on every rank, in launch order; frozen parameters last.
std::vector<Fingerprint> outline(const BucketPlan& plan, const ParameterStore& store) {
  std::vector<Fingerprint> items;
  std::size_t entry = 0;  // the layout holds the parameters in the same order as the buckets do
  for (std::size_t i = 0; i < plan.buckets.size(); ++i)
    for (const Parameter* p : plan.buckets[i].parameters)
      items.push_back(fingerprint_of(fmt::format("{} used {}x in bucket {} at {}", describe(*p), p->uses, i,
                                                 plan.layout.entries().at(entry++).offset)));
  for (const Parameter* p : store.parameters())
    if (p->frozen) items.push_back(fingerprint_of(describe(*p) + " frozen"));
  items.push_back(fingerprint_of(fmt::format("the end at {} elements", plan.layout.numel())));
  return items;
}

/// Of every parameter's values, in definition order. Blocks the host until the compute stream is done.
std::vector<Fingerprint> value_fingerprints(Context& context, const ParameterStore& store) {
  std::vector<Fingerprint> items;
  std::vector<std::byte> values;  // on the host
  for (const Parameter* p : store.parameters()) {
    const auto bytes = static_cast<std::size_t>(p->value.bytes());
    values.resize(bytes);
    context.compute().copy(values.data(), p->value.data(), bytes);
    context.compute().synchronize();
    const std::uint64_t hash = Hash().add(describe(*p)).add(values.data(), bytes).value();
    items.push_back({hash, fmt::format("{} with hash {:016x}", describe(*p), hash)});
  }
  return items;
}

void broadcast_values(Context& context, Communicator& communicator, const ParameterStore& store) {
  Event initialized = context.make_event();
  context.compute().record(initialized);
  context.comm().wait(initialized);
  communicator.broadcast(store.values(), 0, context.comm());
  if (store.masters().data() != store.values().data())
    communicator.broadcast(store.masters(), 0, context.comm());
  for (const Parameter* p : store.parameters())
    if (p->frozen) communicator.broadcast(p->value, 0, context.comm());
  context.comm().synchronize();
}

}  // namespace

void replicate(Context& context, Communicator& communicator, const BucketPlan& plan, ParameterStore& store) {
  const auto items = outline(plan, store);
  if (const auto found = find_disagreement(context, communicator, items))
    throw UsageError(
        "the ranks have different models: parameter {} in launch order is {} on rank 0, but {} on rank {} "
        "({} "
        "differ{} from rank 0); start all ranks with the same program and options",
        found->index, found->expected, found->found, found->ranks.front(), found->rank_list(),
        found->ranks.size() == 1 ? "s" : "");
  broadcast_values(context, communicator, store);
}

std::uint64_t parameters_hash(Context& context, const ParameterStore& store) {
  Hash hash;
  for (const Fingerprint& item : value_fingerprints(context, store)) hash.add(item.hash);
  return hash.value();
}

void check_replicas(Context& context, Communicator& communicator, const ParameterStore& store) {
  const auto items = value_fingerprints(context, store);
  if (const auto found = find_disagreement(context, communicator, items))
    throw CommError(
        "replicas have diverged: {} hold{} other parameters than rank 0; the first is {} there, {} on rank "
        "{}",
        found->rank_list(), found->ranks.size() == 1 ? "s" : "", found->expected, found->found,
        found->ranks.front());
}

}  // namespace tandem

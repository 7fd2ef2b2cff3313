#include "ddp/parameter_gather.h"

#include <algorithm>
#include <string>

namespace tandem {

namespace {

/// The buckets by the first of their parameters to be defined, which is the first that forward reads.
std::vector<std::size_t> forward_order(const BucketPlan& plan, const ParameterStore& store) {
  std::unordered_map<const Parameter*, std::size_t> position;
  for (const Parameter* parameter : store.parameters()) position.emplace(parameter, position.size());
  const auto first_of = [&](std::size_t bucket) {
    std::size_t first = position.size();
    for (const Parameter* parameter : plan.buckets[bucket].parameters)
      first = std::min(first, position.at(parameter));
    return first;
  };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return first_of(a) < first_of(b); });
  return order;
}

}  // namespace

ParameterGather::ParameterGather(Context& context, Communicator& communicator, const BucketPlan& plan,
                                 const ParameterStore& store, bool overlap, CommObserver* observer)
    : context_(&context),
      communicator_(&communicator),
      observer_(observer),
      overlap_(overlap),
      updated_(context.make_event()),
      scope_(communicator, context.comm()) {
  for (const std::size_t bucket : forward_order(plan, store)) {
    const BucketSpec& spec = plan.buckets[bucket];
    for (Parameter* parameter : spec.parameters) {
      place_of_[parameter] = {pieces_.size()};
      parameters_.push_back(parameter);
      parameter->gate = this;
    }
    pieces_.push_back({static_cast<int>(plan.buckets.size() + bucket),
                       store.values().slice(spec.offset, spec.numel),
                       store.masters().slice(spec.offset, spec.numel), context.make_event()});
  }
}

ParameterGather::~ParameterGather() {
  for (Parameter* parameter : parameters_) parameter->gate = nullptr;
}

void ParameterGather::start() {
  require_all_read();
  Stream &compute = context_->compute(), &comm = context_->comm();
  compute.record(updated_);
  comm.wait(updated_);
  for (Piece& piece : pieces_) {
    if (piece.values.numel() == 0) continue;
    if (observer_) observer_->bucket_ready(piece.id, compute);
    if (observer_) observer_->bucket_start(piece.id, comm);
    communicator_->all_gather(piece.values, comm);
    if (observer_) observer_->bucket_end(piece.id, comm);
    comm.record(piece.gathered);
    piece.in_flight = true;
  }
  if (!overlap_) wait_all();
}

void ParameterGather::require_all_read() {
  for (auto& [parameter, place] : place_of_) {
    require(place.read || parameter->numel() == 0,
            "forward used '{}' without Parameter::read(), which waits until its values have been gathered",
            parameter->name);
    place.read = false;
  }
}

void ParameterGather::await(const Parameter& parameter) {
  Place& place = place_of_.at(&parameter);
  place.read = true;
  wait(pieces_[place.piece]);
}

void ParameterGather::wait_all() {
  for (Piece& piece : pieces_) wait(piece);
}

void ParameterGather::gather_masters() {
  wait_all();
  context_->compute().record(updated_);
  context_->comm().wait(updated_);
  for (const Piece& piece : pieces_)
    if (piece.masters.data() != piece.values.data() && piece.masters.numel() > 0)
      communicator_->all_gather(piece.masters, context_->comm());
  context_->comm().synchronize();
}

void ParameterGather::wait(Piece& piece) {
  if (!piece.in_flight) return;
  Stream& compute = context_->compute();
  if (observer_) observer_->wait_start(piece.id, compute);
  compute.wait(piece.gathered);
  if (observer_) observer_->wait_end(piece.id, compute);
  piece.in_flight = false;
}

}  // namespace tandem

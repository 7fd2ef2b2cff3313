#include "examples/train/feedback.h"

#include <utility>

#include "core/tensor/copy.h"

namespace tandem::train {

StepFeedback::StepFeedback(Context& context, Communicator& communicator, bool communicate)
    : context_(&context),
      communicator_(&communicator),
      communicate_(communicate && communicator.size() > 1),
      device_memory_(context, kSlots * Arena::kAlignment),
      staging_memory_(context, 2 * kSlots * Arena::kAlignment, DeviceMemory::Kind::staging) {
  for (Slot& s : slots_) {
    s.values = device_memory_.allocate(DType::f64, {kValues});
    s.host_stop = staging_memory_.allocate(DType::f64, {1});
    s.host_values = staging_memory_.allocate(DType::f64, {kValues});
    s.written = context.make_event();
    s.done = context.make_event();
  }
}

void StepFeedback::send(std::int64_t step, const Tensor& loss_share, const Tensor& norm,
                        const Tensor& loss_scale, bool stop) {
  Slot& s = slot(step);
  Stream &compute = context_->compute(), &comm = context_->comm();
  *s.host_stop.as<double>() = stop ? 1.0 : 0.0;
  copy(compute, loss_share, s.values.slice(kLoss, 1));
  copy(compute, s.host_stop, s.values.slice(kStop, 1));
  s.has_norm = static_cast<bool>(norm);
  if (norm) copy(compute, norm, s.values.slice(kNorm, 1));
  s.has_scale = static_cast<bool>(loss_scale);
  if (loss_scale) copy(compute, loss_scale, s.values.slice(kScale, 1));
  compute.record(s.written);

  comm.wait(s.written);
  if (communicate_) communicator_->all_reduce(s.values.slice(kLoss, kNorm), ReduceOp::sum, comm);
  copy(comm, s.values, s.host_values);
  comm.record(s.done);
}

StepFeedback::Result StepFeedback::receive(std::int64_t step) {
  Slot& s = slot(step);
  s.done.synchronize();
  const auto* value = s.host_values.as<double>();
  Result result{.loss = value[kLoss], .norm = {}, .loss_scale = {}, .stop = value[kStop] > 0};
  if (s.has_norm) result.norm = value[kNorm];
  if (s.has_scale) result.loss_scale = std::exchange(loss_scale_, value[kScale]);
  return result;
}

}  // namespace tandem::train

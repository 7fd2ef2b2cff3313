#include "examples/train/feedback.h"

namespace tandem::train {

StepFeedback::StepFeedback(Context& context, Communicator& communicator, bool communicate)
    : context_(&context), communicator_(&communicator), communicate_(communicate && communicator.size() > 1) {
  for (Slot& s : slots_) s.done = context.make_event();
}

void StepFeedback::send(std::int64_t step, double loss_share, bool stop) {
  Slot& s = slot(step);
  s.values = {loss_share, stop ? 1.0 : 0.0};
  if (communicate_)
    communicator_->all_reduce(Tensor::of(s.values.data(), {2}), ReduceOp::sum, context_->comm());
  context_->comm().record(s.done);
}

StepFeedback::Result StepFeedback::receive(std::int64_t step) {
  Slot& s = slot(step);
  s.done.synchronize();
  return {s.values[0], s.values[1] > 0};
}

}  // namespace tandem::train

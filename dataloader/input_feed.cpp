#include "dataloader/input_feed.h"

#include "core/tensor/copy.h"

namespace tandem {

InputFeed::InputFeed(Context& context, DataLoader& loader) : context_(&context), loader_(&loader) {
  for (Slot& slot : slots_) {
    slot.filled = context.make_event();
    slot.emptied = context.make_event();
  }
}

const Batch& InputFeed::next() {
  if (context_->device().kind == DeviceKind::cpu) return loader_->next();
  // The loader reuses the batch before once it is asked for another: it must have been copied.
  slots_[1 - next_].filled.synchronize();
  const Batch& from = loader_->next();
  if (!batch_.inputs) {
    Arena measure;
    plan(measure, from);
    memory_ = Arena(*context_, measure.peak());
    plan(memory_, from);
    memory_.seal();
  }
  copy_to_device(from);
  next_ = 1 - next_;
  return batch_;
}

void InputFeed::plan(Arena& arena, const Batch& like) {
  for (Slot& slot : slots_) {
    slot.inputs = arena.allocate(like.inputs.spec());
    slot.targets = arena.allocate(like.targets.spec());
  }
  batch_.inputs = arena.allocate(like.inputs.spec());
  batch_.targets = arena.allocate(like.targets.spec());
}

void InputFeed::copy_to_device(const Batch& from) {
  Slot& slot = slots_[next_];
  Stream &copies = context_->copy(), &compute = context_->compute();
  copies.wait(slot.emptied);
  copy(copies, from.inputs, slot.inputs);
  copy(copies, from.targets, slot.targets);
  copies.record(slot.filled);

  compute.wait(slot.filled);
  copy(compute, slot.inputs, batch_.inputs);
  copy(compute, slot.targets, batch_.targets);
  compute.record(slot.emptied);

  const Tensor inputs = batch_.inputs, targets = batch_.targets;
  batch_ = from;
  batch_.inputs = inputs;
  batch_.targets = targets;
}

}  // namespace tandem

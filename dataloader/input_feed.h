#pragma once

#include <array>

#include "core/tensor/arena.h"
#include "dataloader/data_loader.h"

namespace tandem {

/// Brings a loader's batches to the device. On the CPU they are there already. On a GPU the copy stream fills
/// one of two slots while the compute stream still works on the batch before; from the slot the compute
/// stream copies to an address that is the same for every batch, so that a captured step can be replayed.
class InputFeed {
 public:
  /// The loader must outlive the feed.
  InputFeed(Context& context, DataLoader& loader);

  /// The next micro-batch, its tensors in device memory, for all work that the compute stream is given from
  /// here on until the next call.
  const Batch& next();

 private:
  struct Slot {
    Tensor inputs, targets;
    Event filled, emptied;
  };

  void plan(Arena& arena, const Batch& like);
  void copy_to_device(const Batch& from);

  Context* context_;
  DataLoader* loader_;
  Arena memory_;
  std::array<Slot, 2> slots_;
  std::size_t next_ = 0;
  Batch batch_;  // on a GPU: the tensors at fixed addresses
};

}  // namespace tandem

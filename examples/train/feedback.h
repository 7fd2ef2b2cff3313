#pragma once

#include <array>
#include <cstdint>

#include "core/comm/communicator.h"

namespace tandem::train {

/// What all ranks learn of a step: its loss, and whether one of them was asked to stop. The sums travel
/// behind the step's last bucket, so they delay nothing and hide no wait, and are read at the end of the next
/// step, when they have long arrived.
class StepFeedback {
 public:
  struct Result {
    double loss = 0;    ///< mean over the global batch; without `communicate` this rank's own
    bool stop = false;  ///< some rank was asked to stop: all do, at the same step
  };

  StepFeedback(Context& context, Communicator& communicator, bool communicate);

  /// At the end of step `step`. `loss_share`: this rank's loss sum over the valid targets of all ranks.
  void send(std::int64_t step, double loss_share, bool stop);
  /// The result of a step that was sent; waits for it if it must.
  Result receive(std::int64_t step);

 private:
  static constexpr int kSlots = 4;
  struct Slot {
    std::array<double, 2> values{};  // loss share, stop requests
    Event done;
  };
  Slot& slot(std::int64_t step) { return slots_[static_cast<std::size_t>(step % kSlots)]; }

  Context* context_;
  Communicator* communicator_;
  bool communicate_;
  std::array<Slot, kSlots> slots_;
};

}  // namespace tandem::train

#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/comm/communicator.h"
#include "core/tensor/arena.h"
#include "optim/loss_scale.h"

namespace tandem::train {

/// What all ranks learn of a step: its loss, the gradient's norm, and whether one of them was asked to stop.
/// The sums travel behind the step's last bucket, so they delay nothing and hide no wait, and are read at the
/// end of the next step, when they have long arrived.
class StepFeedback {
 public:
  struct Result {
    double loss = 0;                   ///< mean over the global batch; without `communicate` this rank's own
    std::optional<double> norm;        ///< of the gradient, where the step computed it
    std::optional<double> loss_scale;  ///< that the step was computed with
    bool stop = false;                 ///< some rank was asked to stop: all do, at the same step

    /// With a loss scale, whose steps pass over gradients that are not finite.
    bool skipped() const { return loss_scale && !std::isfinite(norm.value_or(0)); }
  };

  StepFeedback(Context& context, Communicator& communicator, bool communicate);

  /// At the end of step `step`. `loss_share` [1] f64: this rank's loss sum over the valid targets of all
  /// ranks; `norm` [1] f64, or empty; `loss_scale` [1] f64 for the steps to come, or empty. All in device
  /// memory, read when the compute stream gets here.
  void send(std::int64_t step, const Tensor& loss_share, const Tensor& norm, const Tensor& loss_scale,
            bool stop);
  /// The result of a step that was sent, in the order of the steps; waits for it if it must.
  Result receive(std::int64_t step);

 private:
  static constexpr int kSlots = 4;
  enum Value : std::int64_t { kLoss, kStop, kNorm, kScale, kValues };  // the first two are summed over ranks
  struct Slot {
    Tensor values, host_stop, host_values;  // [kValues] device; [1], [kValues] staging
    bool has_norm = false, has_scale = false;
    Event written, done;
  };
  Slot& slot(std::int64_t step) { return slots_[static_cast<std::size_t>(step % kSlots)]; }

  Context* context_;
  Communicator* communicator_;
  bool communicate_;
  Arena device_memory_, staging_memory_;
  std::array<Slot, kSlots> slots_;
  double loss_scale_ = LossScale::kInitial;  // of the step that is received next
};

}  // namespace tandem::train

#pragma once

#include <cstdint>
#include <string>

#include "core/telemetry/step_timer.h"
#include "examples/train/evaluate.h"

namespace tandem::train {

/// What the training loop tells of itself: a Recorder writes it down; a trial keeps what it needs.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual StepTimer& timer() = 0;
  /// Who is to hear of buckets: the timer, behind --inject link=RATE where that was asked for.
  virtual CommObserver& observer() { return timer(); }
  /// What is known of a step before it runs: the GPU's clock and power.
  virtual StepFacts facts_of_step(double lr) const = 0;
  /// The step that this rank is in.
  virtual void entered(std::int64_t step) = 0;
  virtual std::int64_t step() const = 0;
  /// Something that takes no time of its own.
  virtual void note(const std::string& kind, const std::string& text) = 0;
  /// The gradients of that step were not finite: the loss scale shrank, nothing else changed.
  virtual void skipped(std::int64_t step, double loss_scale) = 0;
  virtual void evaluated(const Evaluation& evaluation, bool classes) = 0;
};

}  // namespace tandem::train

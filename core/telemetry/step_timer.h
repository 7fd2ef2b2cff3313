#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/comm/comm_observer.h"
#include "core/device/context.h"
#include "core/telemetry/step_marks.h"
#include "core/telemetry/step_record.h"

namespace tandem {

/// --probe: nothing but the step's ends; phases and waits too; buckets too.
enum class Probe { off, step, bucket };

/// Where a GPU replays a step as graphs, its marks lie in a graph of their own, which some steps replay in
/// place of the plain one: the phases and buckets of the others are unmeasured.
struct CapturedSteps {
  bool on = false;
  std::int64_t every = 10;  ///< from one measured step to the next, at least StepTimer::kLeastEvery
  std::int64_t first = 2;   ///< the first measured step: by then libraries have set up what they need
};

/// What the training loop knows of a step when it ends.
struct StepFacts {
  std::int64_t samples = 0, tokens = 0;  ///< of this rank
  std::optional<double> lr = {}, sm_mhz = {}, power_w = {};
  std::optional<double> loss = {}, grad_norm = {};
  bool loss_follows = false;  ///< the loss is still on its way: set_loss() will bring it
};

/// Times a step and its buckets by marks on the streams, never synchronising. Several steps are in flight: a
/// step's record is handed over once its marks have been reached and its loss has come, which is asked for at
/// the end of later steps. Allocates nothing after the second step.
///
///     timer.start_step(k);
///     { auto scope = timer.measure(Phase::forward); … }
///     timer.end_step({.samples = b, .loss_follows = true});
///     …                                 // in a later step:
///     timer.set_loss(k, loss);
///     …
///     timer.collect_rest();             // at the end of the run
///
/// One thread steps; collect_rest() may be called by another one (the thread that waits for signals).
class StepTimer final : public CommObserver {
 public:
  /// Ended steps that may wait for marks or loss. With one more, the oldest is handed over as it is.
  static constexpr int kInFlight = 8;
  /// A captured step's marks have been read when a step this much later records them anew.
  static constexpr std::int64_t kLeastEvery = kInFlight + 2;

  /// `bucket_bytes`: one entry per bucket. `on_record` gets every finished step, in order, on the thread that
  /// calls end_step(), set_loss(), event() or collect_rest(); it must not call the timer.
  StepTimer(Context& context, Probe probe, std::vector<std::int64_t> bucket_bytes,
            std::function<void(const StepRecord&)> on_record, CapturedSteps captured = {});

  /// Step k starts where step k − 1 ended, unless event() came between.
  void start_step(std::int64_t step);
  void end_step(const StepFacts& facts);
  /// Whether the current step's phases or buckets are measured.
  bool measuring() const { return current_ && current_->measured; }
  /// Brings the loss, and what else there is, of a step that ended with `loss_follows`.
  void set_loss(std::int64_t step, double loss, std::optional<double> grad_norm = {},
                std::optional<double> loss_scale = {});

  /// RAII: from here to the end of the returned object's life the compute stream is in `phase`. Phases do not
  /// nest. All are measured by when the compute stream gets there; Phase::data also by the host's clock
  /// (data_wait_ms; the stream's idling is data_bubble_ms; on the CPU they are the same).
  class [[nodiscard]] PhaseScope {
   public:
    PhaseScope(const PhaseScope&) = delete;
    PhaseScope& operator=(const PhaseScope&) = delete;
    ~PhaseScope() { timer_.leave_phase(); }

   private:
    friend class StepTimer;
    PhaseScope(StepTimer& timer, Phase phase) : timer_(timer) { timer_.enter_phase(phase); }
    StepTimer& timer_;
  };
  PhaseScope measure(Phase phase) { return {*this, phase}; }
  /// The compute stream has just updated the bucket's parameters.
  void bucket_applied(int bucket);

  /// Something that is not part of a step (evaluation, a checkpoint) has just ended: it lasted from the last
  /// step's end, or the last event's, until now, and the next step starts now. Synchronises the compute
  /// stream. Returns the line for events.jsonl.
  EventRecord event(std::string kind, std::string text = {});

  /// Hands over every step that has ended, in order, with what is known of it (a loss that has not come stays
  /// null). Waits up to 100 ms for marks that have not been reached. Any thread.
  void collect_rest();

  void bucket_ready(int bucket, Stream& compute) override;
  void bucket_start(int bucket, Stream& comm) override;
  void bucket_end(int bucket, Stream& comm) override;
  void wait_start(int bucket, Stream& compute) override;
  void wait_end(int bucket, Stream& compute) override;

 private:
  /// A step in flight. It starts where the slot before it ends, unless it has a start of its own: the first
  /// step, and one that follows an event.
  struct Slot {
    TimeMark own_start, end;
    bool has_own_start = false;
    double gap_us = 0;  // from the previous step's end to this one's start
    StepMarks marks;    // unused where steps are captured: captured_marks_ are
    StepRecord record;
    bool loss_follows = false, timed = false, measured = false;
  };

  bool measures(Probe least) const { return measuring() && probe_ >= least; }
  bool to_measure(std::int64_t step) const;
  StepMarks& marks_of(Slot& slot) { return captured_.on ? captured_marks_ : slot.marks; }
  void enter_phase(Phase phase);
  void leave_phase();

  Slot& next_slot();
  Slot& slot(int behind_oldest);
  const TimeMark& end_before(const Slot& slot) const;
  void read_times(Slot& slot);
  void time_ended_steps();
  void hand_over(bool without_loss);
  void make_room(std::unique_lock<std::mutex>& lock);
  void reserve_alike();

  Context& context_;
  const Probe probe_;
  const CapturedSteps captured_;
  const std::vector<std::int64_t> bucket_bytes_;
  std::vector<std::string> bucket_names_;  // for profilers
  const std::function<void(const StepRecord&)> on_record_;

  std::mutex mutex_;  // guards what collect_rest() shares with the stepping thread: the steps that have ended
  std::vector<Slot> slots_;
  int oldest_ = 0, ended_ = 0;  // slots [oldest, oldest + ended) of the ring have ended, the next is current
  double clock_ms_ = 0;         // end of the last step that was timed

  StepMarks captured_marks_;
  bool captured_marks_placed_ = false;     // a measured step has been captured
  Slot* current_ = nullptr;                // null between steps
  std::optional<std::int64_t> last_step_;  // that ended
};

}  // namespace tandem

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/device/context.h"
#include "core/telemetry/step_account.h"
#include "core/telemetry/step_record.h"

namespace tandem {

/// The time marks that one step puts on the streams, and how they become a record once they have been
/// reached. Cleared and used again for a later step; keeps its memory.
class StepMarks {
 public:
  /// `buckets`: how many there are.
  StepMarks(Context& context, std::size_t buckets);
  StepMarks(StepMarks&&) = default;
  /// Waits until the streams have got past all marks: one that is still queued must not be freed.
  ~StepMarks();

  void clear();
  /// Instead of clear(), for a step that replays a graph into which the marks of the step before were
  /// captured: it passes the same places again, and all but Phase::data, which lies outside of graphs, is the
  /// graph's affair.
  void replay();
  /// Room for as much as `other` holds.
  void reserve(const StepMarks& other);

  void enter_phase(Phase phase);
  void leave_phase();
  std::optional<Phase> phase() const { return phase_; }

  // The stages of a reduction. A stage that its bucket's latest reduction has been through begins a new one.
  void bucket_ready(int bucket, Stream& compute) { pass(bucket, &Reduction::ready, compute); }
  void bucket_start(int bucket, Stream& comm) { pass(bucket, &Reduction::start, comm); }
  void bucket_end(int bucket, Stream& comm) { pass(bucket, &Reduction::end, comm); }
  void bucket_applied(int bucket);
  void wait_start(int bucket, Stream& compute);
  void wait_end(int bucket, Stream& compute);

  std::size_t phases() const { return phases_.size(); }
  std::size_t reductions() const { return reductions_.size(); }

  bool reached() const;
  /// Fills everything of `record` that follows from phases and waits, as seen from the mark `start`.
  void read_phases(const TimeMark& start, StepRecord& record);
  /// Fills `record.buckets`, in launch order, and comm_busy_ms.
  void read_buckets(const TimeMark& start, std::span<const std::int64_t> bucket_bytes, StepRecord& record);

 private:
  using Clock = std::chrono::steady_clock;
  using Mark = int;  // a number in marks_
  static constexpr Mark kNone = -1;

  struct PhaseMarks {
    Phase phase;
    Mark start, end;
  };
  struct Wait {
    std::optional<Phase> phase;
    Mark start, end;
  };
  struct Reduction {
    int bucket;
    Mark ready = kNone, start = kNone, end = kNone, wait_start = kNone, wait_end = kNone, applied = kNone;
  };

  Mark mark(Stream& stream);
  PhaseMarks& next_data_phase();
  void pass(int bucket, Mark Reduction::*stage, Stream& stream);
  Reduction* latest(int bucket);

  Context* context_;
  std::vector<TimeMark> marks_;  // a pool: the first used_ are this step's
  int used_ = 0;
  std::vector<PhaseMarks> phases_;
  std::vector<Wait> waits_;
  std::vector<Reduction> reductions_;
  std::vector<int> latest_;  // by bucket: its latest in reductions_, or kNone
  std::optional<Phase> phase_;
  bool replaying_ = false;
  std::size_t next_phase_ = 0;  // of phases_, when replaying: those before it have been passed again
  Clock::time_point data_wait_since_;
  double data_wait_us_ = 0;
  // Scratch of read_…().
  std::vector<WaitSpan> wait_spans_;
  std::vector<std::pair<double, double>> comm_intervals_;
};

}  // namespace tandem

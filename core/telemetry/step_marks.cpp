#include "core/telemetry/step_marks.h"

#include <algorithm>
#include <thread>

#include "core/base/error.h"

namespace tandem {

StepMarks::StepMarks(Context& context, std::size_t buckets) : context_(&context), latest_(buckets, kNone) {}

StepMarks::~StepMarks() {
  while (!reached()) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void StepMarks::clear() {
  used_ = 0;
  phases_.clear();
  waits_.clear();
  reductions_.clear();
  std::fill(latest_.begin(), latest_.end(), kNone);
  phase_.reset();
  replaying_ = false;
  data_wait_us_ = 0;
}

void StepMarks::replay() {
  replaying_ = true;
  next_phase_ = 0;
  data_wait_us_ = 0;
}

void StepMarks::reserve(const StepMarks& other) {
  while (marks_.size() < other.marks_.size()) marks_.push_back(context_->make_time_mark());
  phases_.reserve(other.phases_.size());
  waits_.reserve(other.waits_.size());
  reductions_.reserve(other.reductions_.size());
  wait_spans_.reserve(other.waits_.size());
  comm_intervals_.reserve(other.reductions_.size());
}

void StepMarks::enter_phase(Phase phase) {
  require(!phase_, "a phase within a phase");
  require(!replaying_ || phase == Phase::data, "a replayed step enters its data phases alone");
  phase_ = phase;
  if (replaying_)
    context_->compute().mark(marks_[next_data_phase().start]);
  else
    phases_.push_back({phase, mark(context_->compute()), kNone});
  if (phase == Phase::data) data_wait_since_ = Clock::now();
}

void StepMarks::leave_phase() {
  if (phase_ == Phase::data)
    data_wait_us_ += std::chrono::duration<double, std::micro>(Clock::now() - data_wait_since_).count();
  if (replaying_)
    context_->compute().mark(marks_[phases_[next_phase_++].end]);
  else
    phases_.back().end = mark(context_->compute());
  phase_.reset();
}

/// The data phase that is passed again next.
StepMarks::PhaseMarks& StepMarks::next_data_phase() {
  while (phases_.at(next_phase_).phase != Phase::data) ++next_phase_;
  return phases_[next_phase_];
}

void StepMarks::bucket_applied(int bucket) {
  if (Reduction* reduction = latest(bucket)) reduction->applied = mark(context_->compute());
}

void StepMarks::wait_start(int bucket, Stream& compute) {
  waits_.push_back({phase_, mark(compute), kNone});
  Reduction* reduction = latest(bucket);
  // A second wait for the same reduction finds it done; the first one tells the story.
  if (reduction && reduction->wait_start == kNone) reduction->wait_start = waits_.back().start;
}

void StepMarks::wait_end(int bucket, Stream& compute) {
  Wait& wait = waits_.back();
  wait.end = mark(compute);
  Reduction* reduction = latest(bucket);
  if (reduction && reduction->wait_start == wait.start) reduction->wait_end = wait.end;
}

void StepMarks::pass(int bucket, Mark Reduction::*stage, Stream& stream) {
  Reduction* reduction = latest(bucket);
  if (!reduction || reduction->*stage != kNone) {
    latest_[bucket] = static_cast<int>(reductions_.size());
    reduction = &reductions_.emplace_back(Reduction{.bucket = bucket});
  }
  reduction->*stage = mark(stream);
}

StepMarks::Reduction* StepMarks::latest(int bucket) {
  const int index = latest_.at(bucket);
  return index == kNone ? nullptr : &reductions_[index];
}

StepMarks::Mark StepMarks::mark(Stream& stream) {
  if (used_ == static_cast<int>(marks_.size())) marks_.push_back(context_->make_time_mark());
  stream.mark(marks_[used_]);
  return used_++;
}

bool StepMarks::reached() const {
  return std::all_of(marks_.begin(), marks_.begin() + used_, [](const TimeMark& m) { return m.reached(); });
}

void StepMarks::read_phases(const TimeMark& start, StepRecord& record) {
  const auto us = [&](Mark mark) { return marks_[mark].us_since(start); };
  for (const PhaseMarks& p : phases_) record.phases.push_back({p.phase, us(p.start), us(p.end)});
  wait_spans_.clear();
  for (const Wait& w : waits_) wait_spans_.push_back({w.phase, us(w.start), us(w.end)});
  record.data_wait_ms = data_wait_us_ * 1e-3;
  account_phases(record, wait_spans_);
}

void StepMarks::read_buckets(const TimeMark& start, std::span<const std::int64_t> bucket_bytes,
                             StepRecord& record) {
  const auto us = [&](Mark mark) { return marks_[mark].us_since(start); };
  comm_intervals_.clear();
  for (const Reduction& r : reductions_) {
    if (r.start == kNone || r.end == kNone) continue;  // got ready, but was not reduced: --no-comm
    BucketRecord& bucket = record.buckets.emplace_back();
    bucket.id = r.bucket;
    bucket.bytes = bucket_bytes[r.bucket];
    bucket.start_us = us(r.start);
    bucket.end_us = us(r.end);
    bucket.ready_us = r.ready == kNone ? bucket.start_us : us(r.ready);
    bucket.wait_start_us = r.wait_end == kNone ? bucket.end_us : us(r.wait_start);
    bucket.wait_end_us = r.wait_end == kNone ? bucket.end_us : us(r.wait_end);
    if (r.applied != kNone) bucket.applied_us = us(r.applied);
    comm_intervals_.push_back({bucket.start_us, bucket.end_us});
  }
  std::sort(record.buckets.begin(), record.buckets.end(),
            [](const BucketRecord& a, const BucketRecord& b) { return a.start_us < b.start_us; });
  record.comm_busy_ms = union_length(comm_intervals_) * 1e-3;
}

}  // namespace tandem

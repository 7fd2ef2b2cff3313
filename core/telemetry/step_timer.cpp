#include "core/telemetry/step_timer.h"

#include <chrono>
#include <thread>

#include "core/base/error.h"
#include "core/telemetry/host_range.h"

namespace tandem {

namespace {

using namespace std::chrono_literals;

/// An empty record that keeps the memory of its lists.
void reset(StepRecord& record) {
  auto buckets = std::move(record.buckets);
  auto phases = std::move(record.phases);
  buckets.clear();
  phases.clear();
  record = {};
  record.buckets = std::move(buckets);
  record.phases = std::move(phases);
}

}  // namespace

StepTimer::StepTimer(Context& context, Probe probe, std::vector<std::int64_t> bucket_bytes,
                     std::function<void(const StepRecord&)> on_record, CapturedSteps captured)
    : context_(context),
      probe_(probe),
      captured_(captured),
      bucket_bytes_(std::move(bucket_bytes)),
      on_record_(std::move(on_record)),
      captured_marks_(context, bucket_bytes_.size()) {
  require(captured.every >= kLeastEvery, "captured steps measured every {} steps", captured.every);
  for (std::size_t i = 0; i < bucket_bytes_.size(); ++i) bucket_names_.push_back(fmt::format("bucket {}", i));
  // Two more than wait: the current step's, and the one at whose end the oldest starts.
  for (int i = 0; i < kInFlight + 2; ++i)
    slots_.push_back({.own_start = context_.make_time_mark(),
                      .end = context_.make_time_mark(),
                      .marks = StepMarks(context_, bucket_bytes_.size()),
                      .record = {}});
}

void StepTimer::start_step(std::int64_t step) {
  require(!current_, "step {} started within a step", step);
  Slot& next = next_slot();
  if (!last_step_) {  // later steps start at the last one's end, or have been given a start by event()
    next.has_own_start = true;
    context_.compute().mark(next.own_start);
  }
  reset(next.record);
  next.record.step = step;
  next.timed = false;
  next.measured = to_measure(step);
  if (next.measured && captured_marks_placed_)
    captured_marks_.replay();
  else
    next.marks.clear();
  current_ = &next;
  push_range("step");
}

bool StepTimer::to_measure(std::int64_t step) const {
  if (probe_ == Probe::off || !captured_.on) return probe_ != Probe::off;
  return step >= captured_.first && (step - captured_.first) % captured_.every == 0;
}

void StepTimer::end_step(const StepFacts& facts) {
  require(current_ && !marks_of(*current_).phase(), "a step ended that had not started, or within a phase");
  pop_range();
  context_.compute().mark(current_->end);
  StepRecord& record = current_->record;
  record.samples = facts.samples;
  record.tokens = facts.tokens;
  record.lr = facts.lr;
  record.sm_mhz = facts.sm_mhz;
  record.power_w = facts.power_w;
  record.loss = facts.loss;
  record.grad_norm = facts.grad_norm;
  current_->loss_follows = facts.loss_follows;
  last_step_ = record.step;

  std::unique_lock lock(mutex_);
  if (captured_.on && current_->measured) captured_marks_placed_ = true;
  reserve_alike();
  current_ = nullptr;
  ++ended_;
  slot(ended_).has_own_start = false;
  slot(ended_).gap_us = 0;
  time_ended_steps();
  hand_over(/*without_loss=*/false);
  make_room(lock);
}

void StepTimer::set_loss(std::int64_t step, double loss, std::optional<double> grad_norm,
                         std::optional<double> loss_scale) {
  std::lock_guard lock(mutex_);
  for (int i = 0; i < ended_; ++i) {
    Slot& candidate = slot(i);
    if (candidate.record.step != step) continue;
    candidate.record.loss = loss;
    if (grad_norm) candidate.record.grad_norm = grad_norm;
    if (loss_scale) candidate.record.loss_scale = loss_scale;
    candidate.loss_follows = false;
  }
  time_ended_steps();
  hand_over(/*without_loss=*/false);
}

EventRecord StepTimer::event(std::string kind, std::string text) {
  require(!current_ && last_step_, "an event lies between two steps");
  Slot& next = next_slot();
  context_.compute().mark(next.own_start);
  context_.compute().synchronize();
  std::lock_guard lock(mutex_);
  time_ended_steps();
  const double earlier_events_us = next.gap_us;
  next.has_own_start = true;
  next.gap_us = next.own_start.us_since(end_before(next));
  return {.step = *last_step_,
          .kind = std::move(kind),
          .start_ms = clock_ms_ + earlier_events_us * 1e-3,
          .duration_ms = (next.gap_us - earlier_events_us) * 1e-3,
          .text = std::move(text)};
}

void StepTimer::collect_rest() {
  const auto deadline = std::chrono::steady_clock::now() + 100ms;
  do {
    {
      std::lock_guard lock(mutex_);
      time_ended_steps();
      hand_over(/*without_loss=*/true);
      if (ended_ == 0) return;
    }
    std::this_thread::sleep_for(1ms);
  } while (std::chrono::steady_clock::now() < deadline);
}

void StepTimer::enter_phase(Phase phase) {
  require(current_, "a phase outside of a step");
  push_range(kPhaseNames[static_cast<std::size_t>(phase)].data());
  if (measures(Probe::step)) marks_of(*current_).enter_phase(phase);
}

void StepTimer::leave_phase() {
  if (measures(Probe::step)) marks_of(*current_).leave_phase();
  pop_range();
}

void StepTimer::bucket_ready(int bucket, Stream& compute) {
  if (measures(Probe::bucket)) marks_of(*current_).bucket_ready(bucket, compute);
}

void StepTimer::bucket_start(int bucket, Stream& comm) {
  push_range(bucket_names_.at(static_cast<std::size_t>(bucket)).c_str());
  if (measures(Probe::bucket)) marks_of(*current_).bucket_start(bucket, comm);
}

void StepTimer::bucket_end(int bucket, Stream& comm) {
  if (measures(Probe::bucket)) marks_of(*current_).bucket_end(bucket, comm);
  pop_range();
}

void StepTimer::bucket_applied(int bucket) {
  if (measures(Probe::bucket)) marks_of(*current_).bucket_applied(bucket);
}

void StepTimer::wait_start(int bucket, Stream& compute) {
  if (measures(Probe::step)) marks_of(*current_).wait_start(bucket, compute);
}

void StepTimer::wait_end(int bucket, Stream& compute) {
  if (measures(Probe::step)) marks_of(*current_).wait_end(bucket, compute);
}

/// Where the step after the last that ended goes: the same slot however many of those are handed over
/// meanwhile.
StepTimer::Slot& StepTimer::next_slot() {
  std::lock_guard lock(mutex_);
  return slot(ended_);
}

StepTimer::Slot& StepTimer::slot(int behind_oldest) {
  return slots_[static_cast<std::size_t>(oldest_ + behind_oldest) % slots_.size()];
}

const TimeMark& StepTimer::end_before(const Slot& slot) const {
  return &slot == slots_.data() ? slots_.back().end : (&slot - 1)->end;
}

/// Reads the marks of ended steps, in order, as far as they have been reached.
void StepTimer::time_ended_steps() {
  for (int i = 0; i < ended_; ++i) {
    Slot& ended = slot(i);
    if (ended.timed) continue;
    // In this order: until then a captured mark tells of the replay before.
    if (!ended.end.reached() || (ended.measured && !marks_of(ended).reached())) return;
    read_times(ended);
    ended.timed = true;
  }
}

void StepTimer::read_times(Slot& slot) {
  StepRecord& record = slot.record;
  const TimeMark& start = slot.has_own_start ? slot.own_start : end_before(slot);
  record.start_ms = clock_ms_ + slot.gap_us * 1e-3;
  record.step_ms = slot.end.us_since(start) * 1e-3;
  clock_ms_ = record.start_ms + record.step_ms;
  if (!slot.measured) return;
  marks_of(slot).read_phases(start, record);
  if (context_.device().kind == DeviceKind::cpu) account_host(record);
  if (probe_ == Probe::bucket) marks_of(slot).read_buckets(start, bucket_bytes_, record);
}

/// Hands over the oldest steps as long as they are complete.
void StepTimer::hand_over(bool without_loss) {
  while (ended_ > 0 && slot(0).timed && (without_loss || !slot(0).loss_follows)) {
    on_record_(slot(0).record);
    oldest_ = (oldest_ + 1) % static_cast<int>(slots_.size());
    --ended_;
  }
}

/// Where kInFlight steps are waiting, the oldest must go, so that the next one has a place when it ends.
void StepTimer::make_room(std::unique_lock<std::mutex>& lock) {
  while (ended_ > kInFlight) {
    time_ended_steps();
    if (slot(0).timed) {
      slot(0).loss_follows = false;
      hand_over(/*without_loss=*/false);
    } else {  // the streams are that far behind: let them come closer
      lock.unlock();
      std::this_thread::sleep_for(50us);
      lock.lock();
    }
  }
}

/// All slots get the room that the current step needed, so that only a step larger than all before allocates.
void StepTimer::reserve_alike() {
  for (Slot& slot : slots_) {
    slot.marks.reserve(current_->marks);
    slot.record.phases.reserve(marks_of(*current_).phases());
    slot.record.buckets.reserve(marks_of(*current_).reductions());
  }
}

}  // namespace tandem

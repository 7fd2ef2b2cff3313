#include "core/telemetry/run_log.h"

#include <chrono>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/telemetry/step_line.h"

namespace tandem {

namespace {

constexpr std::size_t kMuch = 256 * 1024;  // bytes that wake the writer before its second is over
constexpr double kSlowFlushMs = 1;

const std::filesystem::path& made(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw UsageError("the log folder {} cannot be made: {}", folder.string(), error.message());
  return folder;
}

std::string_view view(const fmt::memory_buffer& line) {
  return {line.data(), line.size()};
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& folder, int rank)
    : steps_(made(folder) / fmt::format("steps.rank{}.jsonl", rank)) {
  if (rank == 0) events_.emplace(folder / "events.jsonl");
  line_.reserve(64 * 1024);
  writer_ = std::thread([this] { flush_now_and_then(); });
}

RunLog::~RunLog() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_one();
  }
  writer_.join();
}

void RunLog::append(const StepRecord& record) {
  std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  line_.clear();
  append_step_line(record, line_);
  last_step_ = record.step;
  wake_if_much(steps_.append(view(line_)));
}

void RunLog::append(const EventRecord& event) {
  if (!events_) return;
  std::lock_guard lock(mutex_);
  line_.clear();
  append_event_line(event, line_);
  wake_if_much(events_->append(view(line_)));
}

void RunLog::wake_if_much(std::size_t waiting_bytes) {
  if (waiting_bytes < kMuch) return;
  wake_ = true;
  changed_.notify_one();
}

void RunLog::flush() {
  const auto start = std::chrono::steady_clock::now();
  std::size_t bytes = steps_.flush();
  if (events_) bytes += events_->flush();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  if (bytes > 0 && took.count() >= kSlowFlushMs) note_slow_flush(took.count());
}

void RunLog::note_slow_flush(double ms) {
  std::int64_t step;
  {
    std::lock_guard lock(mutex_);
    step = last_step_;
  }
  append(
      EventRecord{.step = step, .kind = "log flush", .start_ms = {}, .duration_ms = ms, .inside_step = true});
}

void RunLog::flush_now_and_then() {
  std::unique_lock lock(mutex_);
  bool last = false;
  while (!last) {
    changed_.wait_for(lock, std::chrono::seconds(1), [&] { return wake_ || closing_; });
    wake_ = false;
    last = closing_;
    lock.unlock();
    try {
      flush();
    } catch (const Error&) {
      std::lock_guard relock(mutex_);
      error_ = std::current_exception();
    }
    lock.lock();
  }
}

}  // namespace tandem

#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "core/telemetry/line_file.h"
#include "core/telemetry/step_record.h"

namespace tandem {

/// One rank's log files: steps.rankR.jsonl, and on rank 0 events.jsonl.
///
/// Appending formats a line into memory that is there already; a thread of its own writes the files once a
/// second, so no step waits for a disk and at most a second is lost when the process is killed. On rank 0, a
/// flush that took over a millisecond is an event of its own. All functions may be called by several threads.
class RunLog {
 public:
  /// Makes the folder where it is missing (ranks on other hosts). Throws UsageError if it cannot be written.
  RunLog(const std::filesystem::path& folder, int rank);
  /// Writes what is left; what goes wrong then goes unsaid (call flush() before to hear of it).
  ~RunLog();

  /// Throws DeviceError if writing failed since the last call.
  void append(const StepRecord& record);
  /// Ranks other than 0 leave it out: events concern all ranks alike.
  void append(const EventRecord& event);
  /// Writes everything appended so far. Throws DeviceError.
  void flush();

 private:
  void flush_now_and_then();
  void note_slow_flush(double ms);
  void wake_if_much(std::size_t waiting_bytes);

  LineFile steps_;
  std::optional<LineFile> events_;

  std::mutex mutex_;  // guards what follows
  fmt::memory_buffer line_;
  std::int64_t last_step_ = 0;
  std::exception_ptr error_;  // from the writing thread, for the next append()
  bool wake_ = false, closing_ = false;
  std::condition_variable changed_;
  std::thread writer_;
};

}  // namespace tandem

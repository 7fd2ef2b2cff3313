#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/telemetry/step_record.h"

namespace tandem {

/// How one may write to a stream.
struct ConsoleStyle {
  bool terminal = false;  ///< lines may be rewritten in place
  bool colour = false;    ///< never without a terminal, nor where NO_COLOR is set
  bool utf8 = false;
  int width = 0;  ///< columns; 0: ask the terminal each time, it may be resized

  /// As the stream and the environment (NO_COLOR, TERM, LC_ALL, LC_CTYPE, LANG) say.
  static ConsoleStyle of(std::FILE* out);
};

/// Where a run has got to, as one line says it.
struct Progress {
  std::int64_t done = 0, total = 0;  ///< steps
  std::optional<double> loss = {}, lr = {};
  double step_ms = 0;
  double per_second = 0;  ///< of `unit`, over all ranks
  std::string_view unit = "samples";
  std::optional<double> exposed_share = {};  ///< of the step's time
  std::optional<double> mfu = {};            ///< model FLOP utilisation: of the device's peak rate
  double eta_s = 0;
};

/// "step  10/300  loss 3.2145  lr 1.00e-03  71.2 ms  14.4 K tok/s  exposed 4.4%  ETA 21 s"
void append_progress(const Progress& progress, fmt::memory_buffer& line);
/// The same behind a bar, in less than `style.width` columns: what is less important goes first.
void append_progress_bar(const Progress& progress, const ConsoleStyle& style, fmt::memory_buffer& line);

/// What rank 0 shows while a run goes on: on a terminal a progress bar, redrawn in place at most ten times a
/// second; otherwise a plain line every few steps. For one thread. Other ranks give it no stream: it is
/// silent.
class Console {
 public:
  struct Run {
    std::int64_t steps = 0;  ///< planned
    int ranks = 1;           ///< records are one rank's; rates are of all, taken to be alike
    std::int64_t log_every = 10;
    /// Model FLOP of a token, or of a sample where there are none, over the peak rate of a device: what makes
    /// a rate a utilisation.
    std::optional<double> peak_seconds_per_unit = {};
  };

  Console(std::FILE* out, const ConsoleStyle& style, const Run& run);
  /// Ends the bar's line.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void step(const StepRecord& record);
  /// Prints lines of text (the newline at their end is added where it is missing); a bar moves below them.
  void print(std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;

  /// Sums over the latest steps.
  struct Recent {
    double steps = 0, ms = 0, samples = 0, tokens = 0;
    double measured_ms = 0, exposed_ms = 0;  // of the steps that measured exposed communication
    void add(const StepRecord& record, double keep);
  };
  Progress progress(const StepRecord& record) const;
  void draw(const StepRecord& record);
  void erase();
  void write(const fmt::memory_buffer& text);

  std::FILE* out_;
  const ConsoleStyle style_;
  const Run run_;
  Recent recent_;
  bool bar_shown_ = false;
  Clock::time_point last_draw_{};
};

}  // namespace tandem

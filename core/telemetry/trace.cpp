#include "core/telemetry/trace.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tandem {

namespace {

constexpr std::int64_t kSteps = 20;
constexpr int kHost = 0, kCompute = 1, kComm = 2;
constexpr double kTick = 1e-3;  // the last decimal that is written

struct Slice {
  double start_us, end_us;
};

/// Writes events one after the other; times are written with three decimals.
class Writer {
 public:
  void slice(int rank, int thread, const std::string& name, Slice s, const std::string& args = "{}") {
    event(R"({{"ph":"X","pid":{},"tid":{},"name":{},"ts":{:.3f},"dur":{:.3f},"args":{}}})", rank, thread,
          quoted(name), s.start_us, std::max(0.0, s.end_us - s.start_us), args);
  }
  /// `phase`: s starts, t goes on, f ends; bound to the slice around it.
  void flow(char phase, int rank, int thread, std::int64_t id, double us) {
    event(R"({{"ph":"{}","pid":{},"tid":{},"id":{},"cat":"bucket","name":"bucket","bp":"e","ts":{:.3f}}})",
          phase, rank, thread, id, us);
  }
  void metadata(int rank, int thread, const char* what, const std::string& name) {
    event(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}})", rank, thread, what,
          quoted(name));
  }
  static std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  std::string take(const std::string& other_data) {
    return fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[\n{}\n]}}\n",
                       other_data, text_);
  }

 private:
  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    if (!text_.empty()) text_ += ",\n";
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  std::string text_;
};

/// One step of one rank on the common axis. Edges are rounded to what is written, so that what nests here
/// nests in the file.
class StepTrace {
 public:
  StepTrace(Writer& out, const ClockAlignment& clocks, int rank, const StepRecord& step)
      : out_(out), rank_(rank), step_(step), start_us_(clocks.common_us(rank, step.start_ms * 1e3)) {}

  void write(std::int64_t& next_flow) const {
    const Slice whole = within(0, step_.step_ms * 1e3, everything());
    out_.slice(rank_, kHost, fmt::format("step {}", step_.step), whole,
               fmt::format(R"({{"samples":{},"loss":{}}})", step_.samples,
                           step_.loss ? fmt::format("{}", *step_.loss) : "null"));
    for (const PhaseSpan& phase : step_.phases)
      out_.slice(rank_, phase.phase == Phase::data ? kHost : kCompute,
                 std::string(kPhaseNames[static_cast<std::size_t>(phase.phase)]),
                 within(phase.start_us, phase.end_us, whole));
    double comm_free = everything().start_us;
    for (const BucketRecord& bucket : step_.buckets) {
      const Slice collective = within(bucket.start_us, bucket.end_us, {comm_free, everything().end_us});
      comm_free = collective.end_us;
      out_.slice(rank_, kComm, fmt::format("bucket {}", bucket.id), collective,
                 fmt::format(R"({{"bytes":{}}})", bucket.bytes));
      write_wait(bucket);
      write_flow(bucket, collective, next_flow++);
    }
  }

 private:
  static constexpr Slice everything() { return {-1e15, 1e15}; }
  double common(double us) const { return std::round((start_us_ + us) / kTick) * kTick; }
  Slice within(double from_us, double to_us, Slice limits) const {
    const double start = std::clamp(common(from_us), limits.start_us, limits.end_us);
    return {start, std::clamp(common(to_us), start, limits.end_us)};
  }

  /// The slice of the compute thread around `us`, if there is one.
  const PhaseSpan* around(double us) const {
    const auto found = std::find_if(step_.phases.begin(), step_.phases.end(), [&](const PhaseSpan& p) {
      return p.phase != Phase::data && p.start_us <= us && us < p.end_us;
    });
    return found == step_.phases.end() ? nullptr : &*found;
  }

  void write_wait(const BucketRecord& bucket) const {
    if (bucket.wait_end_us - bucket.wait_start_us < kTick) return;
    const PhaseSpan* phase = around(bucket.wait_start_us);
    const Slice limits = phase ? within(phase->start_us, phase->end_us, everything()) : everything();
    out_.slice(rank_, kCompute, fmt::format("wait for bucket {}", bucket.id),
               within(bucket.wait_start_us, bucket.wait_end_us, limits));
  }

  /// Without a slice at its start (--probe step) a flow has nothing to start from.
  void write_flow(const BucketRecord& bucket, Slice collective, std::int64_t id) const {
    if (!around(bucket.ready_us)) return;
    out_.flow('s', rank_, kCompute, id, common(bucket.ready_us));
    out_.flow('t', rank_, kComm, id, collective.start_us);
    const double inside_end = std::max(collective.start_us, collective.end_us - kTick);
    const double had_us = bucket.applied_us.value_or(bucket.wait_end_us) - 2 * kTick;
    if (had_us < bucket.end_us || !around(had_us)) {
      out_.flow('f', rank_, kComm, id, inside_end);
      return;
    }
    out_.flow('t', rank_, kComm, id, inside_end);
    out_.flow('f', rank_, kCompute, id, common(had_us));
  }

  Writer& out_;
  const int rank_;
  const StepRecord& step_;
  const double start_us_;
};

void write_events(std::span<const EventRecord> events, const Run& run, const ClockAlignment& clocks,
                  const Window& window, Writer& out) {
  for (const EventRecord& event : events) {
    const bool shown =
        event.start_ms && !event.inside_step && event.step >= window.first && event.step < window.last;
    if (!shown || run.logged_ranks.empty() || run.logged_ranks.front() != 0) continue;
    const double start = clocks.common_us(0, *event.start_ms * 1e3);
    out.slice(0, kHost, event.kind, {start, start + event.duration_ms * 1e3},
              fmt::format(R"({{"text":{}}})", Writer::quoted(event.text)));
  }
}

}  // namespace

Window trace_window(const Run& run) {
  const auto steps = run.steps.empty() ? 0 : static_cast<std::int64_t>(run.steps[0].size());
  const auto stable = run.window ? run.window : stable_window(steps);
  const std::int64_t first =
      stable && stable->first < steps ? stable->first : std::max<std::int64_t>(0, steps - kSteps);
  return {first, std::min(steps, first + kSteps) - 1, false};
}

std::string trace_json(const Run& run, std::span<const EventRecord> events, const ClockAlignment& clocks,
                       const Window& window) {
  Writer out;
  std::int64_t flow = 0;
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const int rank = run.logged_ranks[i];
    out.metadata(rank, kHost, "process_name", fmt::format("rank {}", rank));
    const std::pair<int, const char*> threads[] = {{kHost, "host"}, {kCompute, "compute"}, {kComm, "comm"}};
    for (const auto& [thread, name] : threads) out.metadata(rank, thread, "thread_name", name);
    for (const StepRecord& step : run.steps[i])
      if (step.step >= window.first && step.step <= window.last)
        StepTrace(out, clocks, rank, step).write(flow);
  }
  write_events(events, run, clocks, window, out);
  const auto error = clocks.error_us();
  return out.take(fmt::format(R"({{"run":{},"model":{},"injected":{},"clock_error_us":{}}})",
                              Writer::quoted(run.directory), Writer::quoted(run.model),
                              nlohmann::json(run.injected).dump(),
                              error ? fmt::format("{:.1f}", *error) : "null"));
}

}  // namespace tandem

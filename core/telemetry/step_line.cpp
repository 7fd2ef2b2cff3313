#include "core/telemetry/step_line.h"

#include <cmath>
#include <iterator>
#include <string_view>

#include <nlohmann/json.hpp>

namespace tandem {

namespace {

/// ,"name":1.234567 or ,"name":null
void field(fmt::memory_buffer& line, std::string_view name, std::optional<double> value, bool time) {
  const auto out = std::back_inserter(line);
  if (!value || !std::isfinite(*value))
    fmt::format_to(out, R"(,"{}":null)", name);
  else if (time)
    fmt::format_to(out, R"(,"{}":{:.6f})", name, *value);
  else
    fmt::format_to(out, R"(,"{}":{})", name, *value);
}

void append(fmt::memory_buffer& line, std::string_view text) {
  line.append(text.data(), text.data() + text.size());
}

void append_buckets(const std::vector<BucketRecord>& buckets, fmt::memory_buffer& line) {
  append(line, R"(,"buckets":[)");
  for (const char* comma = ""; const BucketRecord& b : buckets) {
    fmt::format_to(std::back_inserter(line),
                   R"({}{{"id":{},"bytes":{},"ready_us":{:.3f},"start_us":{:.3f},"end_us":{:.3f},)"
                   R"("wait_start_us":{:.3f},"wait_end_us":{:.3f})",
                   comma, b.id, b.bytes, b.ready_us, b.start_us, b.end_us, b.wait_start_us, b.wait_end_us);
    if (b.applied_us) fmt::format_to(std::back_inserter(line), R"(,"applied_us":{:.3f})", *b.applied_us);
    append(line, "}");
    comma = ",";
  }
  append(line, "]");
}

void append_phases(const std::vector<PhaseSpan>& phases, fmt::memory_buffer& line) {
  append(line, R"(,"phases":[)");
  for (const char* comma = ""; const PhaseSpan& p : phases) {
    fmt::format_to(std::back_inserter(line), R"({}{{"phase":"{}","start_us":{:.3f},"end_us":{:.3f}}})", comma,
                   kPhaseNames[static_cast<std::size_t>(p.phase)], p.start_us, p.end_us);
    comma = ",";
  }
  append(line, "]");
}

/// A JSON string with its quotes, whatever bytes `text` holds.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void append_step_line(const StepRecord& r, fmt::memory_buffer& line) {
  fmt::format_to(std::back_inserter(line), R"({{"version":{},"step":{})", kLogVersion, r.step);
  field(line, "start_ms", r.start_ms, true);
  field(line, "step_ms", r.step_ms, true);
  field(line, "host_ms", r.host_ms, true);
  field(line, "data_wait_ms", r.data_wait_ms, true);
  field(line, "data_bubble_ms", r.data_bubble_ms, true);
  field(line, "h2d_ms", r.h2d_ms, true);
  field(line, "forward_ms", r.forward_ms, true);
  field(line, "backward_ms", r.backward_ms, true);
  field(line, "comm_busy_ms", r.comm_busy_ms, true);
  field(line, "exposed_comm_ms", r.exposed_comm_ms, true);
  field(line, "optimizer_ms", r.optimizer_ms, true);
  field(line, "host_gap_ms", r.host_gap_ms, true);
  fmt::format_to(std::back_inserter(line), R"(,"samples":{},"tokens":{})", r.samples, r.tokens);
  field(line, "loss", r.loss, false);
  field(line, "grad_norm", r.grad_norm, false);
  field(line, "lr", r.lr, false);
  field(line, "loss_scale", r.loss_scale, false);
  field(line, "sm_mhz", r.sm_mhz, false);
  field(line, "power_w", r.power_w, false);
  append_buckets(r.buckets, line);
  append_phases(r.phases, line);
  append(line, "}\n");
}

void append_event_line(const EventRecord& e, fmt::memory_buffer& line) {
  fmt::format_to(std::back_inserter(line), R"({{"version":{},"step":{},"event":{})", kLogVersion, e.step,
                 quoted(e.kind));
  field(line, "start_ms", e.start_ms, true);
  field(line, "duration_ms", e.duration_ms, true);
  fmt::format_to(std::back_inserter(line), R"(,"inside_step":{},"text":{}}})", e.inside_step, quoted(e.text));
  append(line, "\n");
}

}  // namespace tandem

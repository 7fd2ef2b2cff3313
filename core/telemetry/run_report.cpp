#include "core/telemetry/run_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tandem {

namespace {

using Lines = std::back_insert_iterator<std::string>;

std::string bar(double share, bool utf8) {
  constexpr int kWidth = 40;
  std::string bar;
  const int cells = std::clamp(static_cast<int>(std::lround(share * kWidth)), 0, kWidth);
  for (int i = 0; i < cells; ++i) bar += utf8 ? "█" : "#";
  return bar;
}

void write_times(const Summary& s, const ReportFacts& facts, Lines out) {
  fmt::format_to(out, "Steps {} to {} of {} on {} rank{}{}\n", s.window->first, s.window->last, s.steps_run,
                 facts.ranks, facts.ranks == 1 ? "" : "s", s.window->shortened ? " (short window)" : "");
  fmt::format_to(out, "  step time    mean {:.2f} ms", s.step_ms);
  if (s.step_ms_ci) fmt::format_to(out, " [{:.2f}, {:.2f}]", s.step_ms_ci->low, s.step_ms_ci->high);
  fmt::format_to(out, "   median {:.2f}   p90 {:.2f}   p99 {:.2f}\n", s.step_ms_median, s.step_ms_p90,
                 s.step_ms_p99);
  fmt::format_to(out, "  throughput   {} samples/s", human_count(s.samples_per_s));
  if (s.tokens_per_s) fmt::format_to(out, "   {} tokens/s", human_count(*s.tokens_per_s));
  fmt::format_to(out, "\n");
}

/// How much of the device is used: of what its maker promises, and of what it does in a large matrix product.
void write_utilisation(const Summary& s, const ReportFacts& facts, Lines out) {
  const double rate = s.tokens_per_s.value_or(s.samples_per_s) / facts.ranks * facts.model_flop;
  if (facts.peak_flops)
    fmt::format_to(out, "  utilisation  {:.1f} TFLOP/s of the model a GPU: MFU {:.1f}% of {:.0f}",
                   rate * 1e-12, 100 * rate / *facts.peak_flops, *facts.peak_flops * 1e-12);
  if (facts.peak_flops && facts.product_flops)
    fmt::format_to(out, ", {:.1f}% of the {:.0f} that it reaches in a large product",
                   100 * rate / *facts.product_flops, *facts.product_flops * 1e-12);
  if (facts.peak_flops) fmt::format_to(out, "\n");
}

/// A line per part of the step, with its share as a bar.
void write_shares(const Summary& s, const ReportFacts& facts, Lines out) {
  const std::pair<const char*, std::optional<double>> parts[] = {
      {"data", s.data_bubble_ms},          {"forward", s.forward_ms},     {"backward", s.backward_ms},
      {"exposed comm", s.exposed_comm_ms}, {"optimizer", s.optimizer_ms}, {"rest (host)", s.host_ms}};
  if (!s.forward_ms) return;  // --probe off
  const double whole = s.ranks.at(static_cast<std::size_t>(s.slowest_rank)).step_ms;
  fmt::format_to(out, "  where it went{}\n",
                 facts.ranks == 1 ? "" : fmt::format(", on the slowest rank ({})", s.slowest_rank));
  for (const auto& [name, ms] : parts)
    if (ms)
      fmt::format_to(out, "    {:<12} {:>9.2f} ms  {:>5.1f}%  {}\n", name, *ms, 100 * *ms / whole,
                     bar(*ms / whole, facts.utf8));
}

void write_communication(const Summary& s, const ReportFacts& facts, Lines out) {
  if (facts.ranks > 1 && s.overlap_ratio && s.comm_busy_ms && s.exposed_comm_ms)
    // Waits can exceed the collectives: a tiny one is over before the comm thread has woken up.
    fmt::format_to(out, "  overlap      {}: {:.2f} ms of communication, {:.2f} ms exposed\n",
                   *s.overlap_ratio < 0 ? "none" : fmt::format("{:.0f}%", 100 * *s.overlap_ratio),
                   *s.comm_busy_ms, *s.exposed_comm_ms);
  if (s.skew) fmt::format_to(out, "  skew         {:.1f}% between ranks\n", 100 * *s.skew);
}

/// Lines without trailing spaces: an empty bar leaves some.
std::string trimmed(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') result.erase(result.find_last_not_of(' ') + 1);
    result += c;
  }
  return result;
}

}  // namespace

std::string bucket_table(const RunFacts& facts) {
  const auto& buckets = facts.buckets;
  const bool wire = std::any_of(buckets.begin(), buckets.end(),
                                [](const BucketFacts& b) { return b.wire_bytes != b.bytes; });
  std::string text;
  const Lines out(text);
  const auto columns = [&](const std::string& bytes, const std::string& sent, auto parameters) {
    fmt::format_to(out, "  {:>10}", bytes);
    if (wire) fmt::format_to(out, "  {:>11}", sent);
    fmt::format_to(out, "  {:>10}", parameters);
  };
  const auto human = [](std::int64_t bytes) { return human_bytes(static_cast<double>(bytes)); };

  fmt::format_to(out, "Buckets, in launch order\n  {:>3}", "#");
  columns("bytes", "on the wire", "parameters");
  fmt::format_to(out, "  from .. to\n");
  BucketFacts all;
  std::size_t parameters = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const BucketFacts& b = buckets[i];
    fmt::format_to(out, "  {:>3}", i);
    columns(human(b.bytes), human(b.wire_bytes), b.parameters.size());
    fmt::format_to(out, "  {}", b.parameters.empty() ? "" : b.parameters.front());
    if (b.parameters.size() > 1) fmt::format_to(out, " .. {}", b.parameters.back());
    fmt::format_to(out, "\n");
    parameters += b.parameters.size();
    all.bytes += b.bytes;
    all.wire_bytes += b.wire_bytes;
  }
  fmt::format_to(out, "  {:>3}", "all");
  columns(human(all.bytes), human(all.wire_bytes), parameters);
  fmt::format_to(out, "\n");
  for (std::size_t i = 0; i < facts.others.size(); ++i)
    fmt::format_to(out, "  {:>3}  {:>10}  {:>11}  {}\n", buckets.size() + i, "",
                   human(facts.others[i].wire_bytes), facts.others[i].what);
  return trimmed(text);
}

std::string run_report(const Summary& s, const ReportFacts& facts) {
  std::string text;
  const Lines out(text);
  if (s.window) {
    write_times(s, facts, out);
    write_utilisation(s, facts, out);
    write_shares(s, facts, out);
    write_communication(s, facts, out);
    if (!s.steady) fmt::format_to(out, "  not steady   {}\n", s.not_steady_because);
  } else {
    fmt::format_to(out, "No figures: {}\n", s.not_steady_because);
  }
  if (s.window && !facts.outlook.empty())
    fmt::format_to(out, "  outlook      {} (predicted, same b, links all alike)\n", facts.outlook);
  for (const std::string& fault : facts.injected)
    fmt::format_to(out, "INJECTED {}: these figures are no measurement\n", fault);
  for (const std::string& finding : s.findings) fmt::format_to(out, "finding: {}\n", finding);
  fmt::format_to(out, "Logs: {}\n", facts.folder);
  fmt::format_to(out, "Scaling efficiency: {}\n", facts.scaling_command);
  return trimmed(text);
}

}  // namespace tandem

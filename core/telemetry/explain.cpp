#include "core/telemetry/explain.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "core/base/text.h"

namespace tandem {

namespace {

using Out = std::back_insert_iterator<std::string>;

constexpr int kColumns = 84;   // of the time line, behind labels of 14 columns
constexpr double kNoWait = 2;  // microseconds: asking whether a bucket is done takes that long

/// Rows of characters over time, all to one scale, so that ranks can be compared by eye.
class TimeLine {
 public:
  explicit TimeLine(double length_us) : us_per_column_(std::max(length_us, 1.0) / kColumns) {}

  /// Fills every column that [start, end] touches.
  void fill(std::string& row, double start_us, double end_us, char c) const {
    const int first = column(start_us), last = std::max(first, column(end_us - 1e-3));
    for (int i = first; i <= last; ++i) row[static_cast<std::size_t>(i)] = c;
  }
  static std::string row() { return std::string(kColumns, ' '); }

  /// Labelled ticks, in milliseconds.
  std::string scale() const {
    const double whole_ms = us_per_column_ * kColumns * 1e-3;
    double tick = std::pow(10.0, std::floor(std::log10(whole_ms)));
    if (whole_ms / tick < 2.5) tick /= 5;
    std::string row = TimeLine::row();
    for (double ms = 0; ms < whole_ms; ms += tick) {
      const std::string label = fmt::format("{:.4g}", ms);
      const auto at = static_cast<std::size_t>(column(ms * 1e3));
      if (at + label.size() <= row.size()) row.replace(at, label.size(), label);
    }
    return row;
  }

 private:
  int column(double us) const { return std::clamp(static_cast<int>(us / us_per_column_), 0, kColumns - 1); }

  double us_per_column_;
};

void write_row(std::string_view label, const std::string& row, Out out) {
  fmt::format_to(out, "  {:<12}{}\n", label, row.substr(0, row.find_last_not_of(' ') + 1));
}

void write_sums(const StepRecord& r, Out out) {
  const std::pair<const char*, std::optional<double>> parts[] = {
      {"data", r.data_wait_ms},       {"forward", r.forward_ms},     {"backward", r.backward_ms},
      {"exposed", r.exposed_comm_ms}, {"optimizer", r.optimizer_ms}, {"rest", r.host_ms}};
  fmt::format_to(out, "{:.2f} ms\n", r.step_ms);
  for (const char* sign = "  = "; const auto& [name, ms] : parts) {
    if (!ms) continue;
    fmt::format_to(out, "{}{} {:.{}f}", sign, name, *ms, r.step_ms < 1000 ? 2 : 0);
    sign = " + ";
  }
  if (r.forward_ms) fmt::format_to(out, "\n");
}

void write_time_line(const StepRecord& r, const TimeLine& line, Out out) {
  constexpr char kLetters[kPhases] = {'d', 'F', 'B', 'u'};
  write_row("ms", line.scale(), out);
  std::string compute = TimeLine::row();
  for (const PhaseSpan& p : r.phases)
    line.fill(compute, p.start_us, p.end_us, kLetters[static_cast<int>(p.phase)]);
  for (const BucketRecord& b : r.buckets)
    if (b.wait_end_us - b.wait_start_us > kNoWait) line.fill(compute, b.wait_start_us, b.wait_end_us, 'w');
  write_row("compute", compute, out);
  for (const BucketRecord& b : r.buckets) {
    std::string row = TimeLine::row();
    line.fill(row, b.ready_us, b.start_us, '.');
    line.fill(row, b.start_us, b.end_us, '=');
    if (b.applied_us) line.fill(row, *b.applied_us, *b.applied_us, '|');
    write_row(fmt::format("bucket {}", b.id), row, out);
  }
}

void write_bucket_table(const StepRecord& r, Out out) {
  fmt::format_to(out, "  {:>6}  {:>9} {:>9} {:>9} {:>9} {:>9}   {:>9} {:>9} {:>9}\n", "bucket", "bytes",
                 "ready", "start", "end", "took", "waited at", "for", "applied");
  for (const BucketRecord& b : r.buckets)
    fmt::format_to(out, "  {:>6}  {:>9} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f}   {:>9.3f} {:>9.3f} {:>9}\n",
                   b.id, human_bytes(static_cast<double>(b.bytes)), b.ready_us * 1e-3, b.start_us * 1e-3,
                   b.end_us * 1e-3, (b.end_us - b.start_us) * 1e-3, b.wait_start_us * 1e-3,
                   (b.wait_end_us - b.wait_start_us) * 1e-3,
                   b.applied_us ? fmt::format("{:.3f}", *b.applied_us * 1e-3) : "-");
}

/// The transfer is what the last rank to come sees; what the others see beyond that is waiting for it.
void write_across_ranks(std::span<const StepRecord> ranks, Out out) {
  const auto alike = [&](const StepRecord& r) { return r.buckets.size() == ranks.front().buckets.size(); };
  if (ranks.size() < 2 || ranks.front().buckets.empty() || !std::all_of(ranks.begin(), ranks.end(), alike))
    return;
  fmt::format_to(
      out, "Across ranks: the shortest collective is the transfer, what others took longer is waiting\n");
  for (std::size_t i = 0; i < ranks.front().buckets.size(); ++i) {
    const auto took = [&](const StepRecord& r) {
      return (r.buckets[i].end_us - r.buckets[i].start_us) * 1e-3;
    };
    const auto shorter = [&](const StepRecord& a, const StepRecord& b) { return took(a) < took(b); };
    const auto [last, first] = std::minmax_element(ranks.begin(), ranks.end(), shorter);
    fmt::format_to(out, "  bucket {:>3}   transfer {:.3f} ms", ranks.front().buckets[i].id, took(*last));
    if (took(*first) > 1.05 * took(*last))  // else it is noise
      fmt::format_to(out, "; rank {} waited {:.3f} ms for rank {}", first - ranks.begin(),
                     took(*first) - took(*last), last - ranks.begin());
    fmt::format_to(out, "\n");
  }
}

}  // namespace

std::string explain_step(std::span<const StepRecord> ranks) {
  std::string text;
  if (ranks.empty()) return text;
  const Out out(text);
  double longest_us = 0;
  for (const StepRecord& r : ranks) longest_us = std::max(longest_us, r.step_ms * 1e3);
  const TimeLine line(longest_us);

  fmt::format_to(out, "Step {} in milliseconds since its start on each rank\n", ranks.front().step);
  fmt::format_to(out, "  d data  F forward  B backward  u update  w waits for a bucket\n");
  fmt::format_to(out, "  . ready, waits for its turn  = collective  | applied\n");
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    fmt::format_to(out, "\nRank {}: ", r);
    write_sums(ranks[r], out);
    if (ranks[r].phases.empty()) continue;  // --probe off
    write_time_line(ranks[r], line, out);
    if (ranks[r].buckets.empty()) continue;
    fmt::format_to(out, "\n");
    write_bucket_table(ranks[r], out);
  }
  fmt::format_to(out, "\n");
  write_across_ranks(ranks, out);
  return text;
}

}  // namespace tandem

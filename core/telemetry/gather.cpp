#include "core/telemetry/gather.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/base/error.h"

namespace tandem {

namespace {

// A record as doubles. Counts of lists come first, absent values are NaN. Whole numbers are exact up to 2^53.

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

constexpr std::optional<double> StepRecord::*kOptional[] = {&StepRecord::host_ms,
                                                            &StepRecord::data_wait_ms,
                                                            &StepRecord::data_bubble_ms,
                                                            &StepRecord::h2d_ms,
                                                            &StepRecord::forward_ms,
                                                            &StepRecord::backward_ms,
                                                            &StepRecord::comm_busy_ms,
                                                            &StepRecord::exposed_comm_ms,
                                                            &StepRecord::optimizer_ms,
                                                            &StepRecord::host_gap_ms,
                                                            &StepRecord::loss,
                                                            &StepRecord::grad_norm,
                                                            &StepRecord::lr,
                                                            &StepRecord::loss_scale,
                                                            &StepRecord::sm_mhz,
                                                            &StepRecord::power_w};

void write(const StepRecord& r, std::vector<double>& out) {
  out.insert(out.end(), {static_cast<double>(r.buckets.size()), static_cast<double>(r.phases.size()),
                         static_cast<double>(r.step), r.start_ms, r.step_ms, static_cast<double>(r.samples),
                         static_cast<double>(r.tokens)});
  for (const auto member : kOptional) out.push_back((r.*member).value_or(kAbsent));
  for (const BucketRecord& b : r.buckets)
    out.insert(out.end(), {static_cast<double>(b.id), static_cast<double>(b.bytes), b.ready_us, b.start_us,
                           b.end_us, b.wait_start_us, b.wait_end_us, b.applied_us.value_or(kAbsent)});
  for (const PhaseSpan& p : r.phases)
    out.insert(out.end(), {static_cast<double>(p.phase), p.start_us, p.end_us});
}

class Reader {
 public:
  explicit Reader(std::span<const double> values) : values_(values) {}

  bool at_end() const { return values_.empty(); }

  StepRecord record() {
    StepRecord r;
    r.buckets.resize(static_cast<std::size_t>(whole()));
    r.phases.resize(static_cast<std::size_t>(whole()));
    r.step = whole();
    r.start_ms = next();
    r.step_ms = next();
    r.samples = whole();
    r.tokens = whole();
    for (const auto member : kOptional) r.*member = optional();
    for (BucketRecord& b : r.buckets) {
      b.id = static_cast<int>(whole());
      b.bytes = whole();
      for (double* us : {&b.ready_us, &b.start_us, &b.end_us, &b.wait_start_us, &b.wait_end_us}) *us = next();
      b.applied_us = optional();
    }
    for (PhaseSpan& p : r.phases) p = {static_cast<Phase>(whole()), next(), next()};
    return r;
  }

 private:
  double next() {
    const double value = values_.front();
    values_ = values_.subspan(1);
    return value;
  }
  std::int64_t whole() { return static_cast<std::int64_t>(next()); }
  std::optional<double> optional() {
    const double value = next();
    return std::isnan(value) ? std::nullopt : std::optional(value);
  }

  std::span<const double> values_;
};

/// Every rank's values, of any number.
std::vector<std::vector<double>> gather_values(const std::vector<double>& mine, Communicator& comm,
                                               Stream& stream) {
  // First the lengths, so that everybody sends blocks of the longest one's.
  const auto ranks = static_cast<std::size_t>(comm.size()), rank = static_cast<std::size_t>(comm.rank());
  std::vector<double> lengths(ranks);
  lengths[rank] = static_cast<double>(mine.size());
  comm.all_gather(Tensor::of(lengths.data(), {comm.size()}), stream);
  stream.synchronize();
  const auto block = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
  if (block == 0) return std::vector<std::vector<double>>(ranks);

  std::vector<double> all(ranks * block);
  std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(rank * block));
  comm.all_gather(Tensor::of(all.data(), {comm.size(), static_cast<std::int64_t>(block)}), stream);
  stream.synchronize();
  std::vector<std::vector<double>> by_rank;
  for (std::size_t r = 0; r < ranks; ++r) {
    const double* first = all.data() + r * block;
    by_rank.emplace_back(first, first + static_cast<std::size_t>(lengths[r]));
  }
  return by_rank;
}

}  // namespace

std::vector<std::vector<StepRecord>> gather_records(std::span<const StepRecord> mine, Communicator& comm,
                                                    Stream& stream) {
  std::vector<double> values;
  for (const StepRecord& record : mine) write(record, values);
  std::vector<std::vector<StepRecord>> by_rank;
  for (const auto& theirs : gather_values(values, comm, stream)) {
    auto& records = by_rank.emplace_back();
    for (Reader reader(theirs); !reader.at_end();) records.push_back(reader.record());
  }
  return by_rank;
}

std::vector<std::string> gather_texts(const std::string& mine, Communicator& comm, Stream& stream) {
  // A byte per double: texts are short, and every backend gathers doubles.
  std::vector<double> values;
  for (const char c : mine) values.push_back(static_cast<unsigned char>(c));
  std::vector<std::string> texts;
  for (const auto& theirs : gather_values(values, comm, stream)) {
    std::string& text = texts.emplace_back();
    for (const double byte : theirs) text += static_cast<char>(static_cast<unsigned char>(byte));
  }
  return texts;
}

std::string broadcast_text(const std::string& text, Communicator& comm, Stream& stream) {
  return gather_texts(comm.rank() == 0 ? text : std::string(), comm, stream).front();
}

}  // namespace tandem

#include "core/telemetry/faults.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <string_view>
#include <thread>

#include "core/base/error.h"
#include "core/base/philox.h"

namespace tandem {

namespace {

constexpr double kLongestMs = 3'600'000;  // an hour: more is a slip of the pen

/// All of `text` as a number, or false.
template <class T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// What stands before and after the separator, or empty texts.
std::pair<std::string_view, std::string_view> split(std::string_view text, char separator) {
  const auto at = text.find(separator);
  if (at == text.npos) return {};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool read_ms(std::string_view text, double& ms) {
  return read_number(text, ms) && ms > 0 && ms <= kLongestMs;
}

void sleep_ms(double ms) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

}  // namespace

std::optional<LinkSpeed> parse_link(std::string_view text) {
  LinkSpeed link;
  if (const auto [rate, latency] = split(text, '+'); !rate.empty()) {
    const bool good =
        latency.ends_with("us") && read_number(latency.substr(0, latency.size() - 2), link.latency_us);
    if (!good || !(link.latency_us >= 0 && link.latency_us <= 1e3 * kLongestMs)) return std::nullopt;
    text = rate;
  }
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number) || number <= 0) return std::nullopt;
  std::string_view name(unit, static_cast<std::size_t>(end - unit));
  if (name.ends_with("/s")) name.remove_suffix(2);
  constexpr std::pair<std::string_view, double> kUnits[] = {{"kbit", 125}, {"mbit", 125e3}, {"gbit", 125e6},
                                                            {"kB", 1e3},   {"MB", 1e6},     {"GB", 1e9}};
  for (const auto& [known, bytes] : kUnits)
    if (name == known) {
      link.bytes_per_s = number * bytes;
      return link;
    }
  return std::nullopt;
}

Faults::Faults(const std::vector<std::string>& specs, int ranks) : ranks_(ranks) {
  for (const std::string& spec : specs) {
    auto fault = parse(spec);
    if (!fault)
      throw UsageError(
          "--inject {}: write slow=RANK:MS (RANK or any, 0 < MS <= {:.0f}), stall=loader:MS, link=RATE "
          "(1gbit, "
          "10MB, 10gbit+300us), nan=RANK@STEP or throw=RANK@STEP, as in slow=1:20",
          spec, kLongestMs);
    if (fault->rank >= ranks)
      throw UsageError("--inject {}: there is no rank {}, the run has ranks 0 to {}", spec, fault->rank,
                       ranks - 1);
    faults_.push_back(std::move(*fault));
  }
}

std::optional<Faults::Fault> Faults::parse(const std::string& spec) {
  Fault fault;
  fault.spec = spec;
  const auto [name, value] = split(spec, '=');
  const auto [where, ms] = split(value, ':');
  const auto [rank, step] = split(value, '@');
  const auto rank_and_step = [&, rank = rank, step = step] {
    return read_number(rank, fault.rank) && fault.rank >= 0 && read_number(step, fault.step) &&
           fault.step >= 0;
  };
  bool good = false;
  if (name == "slow") {
    fault.kind = Kind::slow;
    if (where == "any") fault.rank = kAny;
    good = (where == "any" || (read_number(where, fault.rank) && fault.rank >= 0)) && read_ms(ms, fault.ms);
  } else if (name == "stall") {
    fault.kind = Kind::stall;
    good = where == "loader" && read_ms(ms, fault.ms);
  } else if (name == "link") {
    fault.kind = Kind::link;
    const auto link = parse_link(value);
    good = link.has_value();
    fault.link = link.value_or(LinkSpeed());
  } else if (name == "nan" || name == "throw") {
    fault.kind = name == "nan" ? Kind::nan : Kind::fail;
    good = rank_and_step();
  }
  return good ? std::optional(fault) : std::nullopt;
}

void Faults::before_step(int rank, std::int64_t step) const {
  for (const Fault& fault : faults_) {
    if (fault.kind == Kind::slow) {
      // Every rank draws the same number: they agree on whose turn it is.
      const int turn = fault.rank != kAny
                           ? fault.rank
                           : static_cast<int>(Philox(1, static_cast<std::uint64_t>(step)).uniform() * ranks_);
      if (turn == rank) sleep_ms(fault.ms);
    }
    if (fault.kind == Kind::fail && fault.rank == rank && fault.step == step)
      throw Error(fmt::format("step {}: injected fault (--inject {})", step, fault.spec));
  }
}

void Faults::before_batch() const {
  for (const Fault& fault : faults_)
    if (fault.kind == Kind::stall) sleep_ms(fault.ms);
}

double Faults::seed(int rank, std::int64_t step, double seed) const {
  for (const Fault& fault : faults_)
    if (fault.kind == Kind::nan && fault.rank == rank && fault.step == step)
      return std::numeric_limits<double>::quiet_NaN();
  return seed;
}

std::optional<LinkSpeed> Faults::link() const {
  std::optional<LinkSpeed> slowest;
  for (const Fault& fault : faults_) {
    if (fault.kind != Kind::link) continue;
    if (!slowest) slowest = fault.link;
    slowest->bytes_per_s = std::min(slowest->bytes_per_s, fault.link.bytes_per_s);
    slowest->latency_us = std::max(slowest->latency_us, fault.link.latency_us);
  }
  return slowest;
}

std::vector<std::string> Faults::describe() const {
  std::vector<std::string> specs;
  for (const Fault& fault : faults_) specs.push_back(fault.spec);
  return specs;
}

}  // namespace tandem

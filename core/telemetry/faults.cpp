#include "core/telemetry/faults.h"

#include <charconv>
#include <chrono>
#include <string_view>
#include <thread>

#include "core/base/error.h"

namespace tandem {

namespace {

/// All of `text` as a number, or false.
template <class T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// "RANK<separator>VALUE".
template <class T>
bool read_pair(std::string_view text, char separator, int& rank, T& value) {
  const auto at = text.find(separator);
  return at != text.npos && read_number(text.substr(0, at), rank) && read_number(text.substr(at + 1), value);
}

}  // namespace

Faults::Faults(const std::vector<std::string>& specs, int ranks) {
  for (const std::string& spec : specs) {
    Fault fault = parse(spec);
    if (fault.rank >= ranks)
      throw UsageError("--inject {}: there is no rank {}, the run has ranks 0 to {}", spec, fault.rank,
                       ranks - 1);
    faults_.push_back(std::move(fault));
  }
}

Faults::Fault Faults::parse(const std::string& spec) {
  constexpr std::string_view kSlow = "slow=", kThrow = "throw=";
  constexpr double kLongest = 3'600'000;  // an hour: more is a slip of the pen
  Fault fault{.spec = spec};
  const std::string_view text = spec;
  const bool slow = text.starts_with(kSlow) &&
                    read_pair(text.substr(kSlow.size()), ':', fault.rank, fault.sleep_ms) &&
                    fault.sleep_ms > 0 && fault.sleep_ms <= kLongest;
  const bool throws = text.starts_with(kThrow) &&
                      read_pair(text.substr(kThrow.size()), '@', fault.rank, fault.throw_step) &&
                      fault.throw_step >= 0;
  if ((!slow && !throws) || fault.rank < 0)
    throw UsageError("--inject {}: write slow=RANK:MS (0 < MS <= {:.0f}) or throw=RANK@STEP, as in slow=1:20",
                     spec, kLongest);
  return fault;
}

void Faults::before_step(int rank, std::int64_t step) const {
  for (const Fault& fault : faults_) {
    if (fault.rank != rank) continue;
    if (fault.sleep_ms > 0)
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(fault.sleep_ms));
    if (fault.throw_step == step)
      throw Error(fmt::format("step {}: injected fault (--inject {})", step, fault.spec));
  }
}

std::vector<std::string> Faults::describe() const {
  std::vector<std::string> specs;
  for (const Fault& fault : faults_) specs.push_back(fault.spec);
  return specs;
}

}  // namespace tandem

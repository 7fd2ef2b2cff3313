#include "core/telemetry/prediction.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include <fmt/format.h>

#include "core/base/error.h"

namespace tandem {

namespace {

constexpr int kOutlook[] = {2, 4, 8};

bool timed(std::span<const std::vector<StepRecord>> ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [](const auto& steps) {
    return !steps.empty() && std::all_of(steps.begin(), steps.end(), [](const StepRecord& s) {
      return s.exposed_comm_ms && !s.buckets.empty();
    });
  });
}

/// The rank with the most work, whose steps the others wait for.
const std::vector<StepRecord>& slowest_of(std::span<const std::vector<StepRecord>> ranks) {
  const auto work = [](const std::vector<StepRecord>& steps) {
    double sum = 0;
    for (const StepRecord& s : steps) sum += s.step_ms - *s.exposed_comm_ms;
    return sum;
  };
  return *std::max_element(ranks.begin(), ranks.end(),
                           [&](const auto& a, const auto& b) { return work(a) < work(b); });
}

}  // namespace

LinkModel ring_link(std::span<const NetworkLevel> network, int ranks) {
  if (ranks <= 1) return {};
  for (const NetworkLevel& level : network) {
    if (level.ranks < ranks) continue;
    const double p = ranks;
    return {{{0, 2 * (p - 1) * level.alpha_us, 2 * (p - 1) / p * 1e-3 / level.gb_s}}, 0};
  }
  throw DataError("the network has no level of {} ranks", ranks);
}

LinkModel ring_link(const LinkModel& measured, int measured_ranks, int ranks) {
  require(measured_ranks >= 2 && ranks >= 1, "a link of {} ranks for {}", measured_ranks, ranks);
  if (ranks == 1) return {};
  const double p = ranks, q = measured_ranks, steps = (p - 1) / (q - 1), share = q / p;
  LinkModel link = measured;
  for (LinkSegment& s : link.segments) {
    s.from_bytes /= share;  // the size at which messages are as large as they were there
    s.alpha_us *= steps;
    s.beta_us_per_byte *= steps * share;
  }
  return link;
}

LinkModel link_of_transfers(std::span<const std::vector<StepRecord>> ranks) {
  std::map<double, std::vector<double>> by_size;
  for (std::size_t k = 0; k < ranks[0].size(); ++k)
    for (std::size_t b = 0; b < ranks[0][k].buckets.size(); ++b)
      by_size[static_cast<double>(ranks[0][k].buckets[b].bytes)].push_back(transfer_us(ranks, k, b));
  std::vector<LinkSample> samples;
  for (const auto& [bytes, us] : by_size)
    if (bytes > 0) samples.push_back({bytes, std::max(quantile(us, 0.5), 1e-3)});
  require(!samples.empty(), "no bucket was reduced");
  if (samples.size() > 1) return fit_link(samples);
  return {{{0, 0, samples[0].us / samples[0].bytes}}, 0};
}

double expected_maximum(int n) {
  require(n >= 1, "the maximum of {} values", n);
  if (n == 1) return 0;
  constexpr double kStep = 0.001, kEnd = 8;
  double mean = 0;  // of x · n φ(x) Φ(x)^(n − 1)
  for (double x = -kEnd; x <= kEnd; x += kStep) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    mean += x * n * density * std::pow(0.5 * std::erfc(-x / std::numbers::sqrt2), n - 1) * kStep;
  }
  return mean;
}

Prediction predict_step(const Calibration& calibration, const LinkModel& link, int ranks) {
  const double alone_us = replay(calibration.work, {}).step_us;
  const StepSchedule step = replay(calibration.work, link, calibration.contention);
  const double straggling_us = calibration.noise_us * expected_maximum(ranks);
  const double step_us = step.step_us + straggling_us;
  return {.ranks = ranks,
          .step_ms = step_us * 1e-3,
          .exposed_ms = step.exposed_us * 1e-3,
          .straggling_ms = straggling_us * 1e-3,
          .efficiency = alone_us / step_us};
}

double work_noise_us(std::span<const std::vector<StepRecord>> ranks) {
  double sum = 0;
  for (const auto& steps : ranks) {
    std::vector<double> work;
    for (const StepRecord& s : steps) work.push_back((s.step_ms - s.exposed_comm_ms.value_or(0)) * 1e3);
    sum += (quantile(work, 0.84) - quantile(work, 0.16)) / 2;
  }
  return sum / static_cast<double>(ranks.size());
}

std::string outlook(std::span<const std::vector<StepRecord>> all, const Window& window, bool clipped,
                    bool overlap) {
  std::vector<std::vector<StepRecord>> ranks;
  for (const auto& steps : all)
    ranks.emplace_back(steps.begin() + window.first, steps.begin() + window.last + 1);
  if (ranks.size() < 2 || !timed(ranks)) return {};
  const int measured = static_cast<int>(ranks.size());
  const LinkModel link = link_of_transfers(ranks);
  const Calibration calibration{.work = work_of(slowest_of(ranks), clipped, overlap),
                                .contention = {},  // what it was is in the work and in the link already
                                .noise_us = work_noise_us(ranks)};
  std::string text;
  for (const int p : kOutlook) {
    const Prediction there = predict_step(calibration, ring_link(link, measured, p), p);
    text += fmt::format("{}{} ranks {:.4g} ms", text.empty() ? "" : ", ", p, there.step_ms);
  }
  return text;
}

}  // namespace tandem

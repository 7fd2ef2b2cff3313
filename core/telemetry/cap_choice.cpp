#include "core/telemetry/cap_choice.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/text.h"

namespace tandem {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostTried = 3;  // beside the standard cap
constexpr double kWorthTrying = 1.05;  // of the best prediction

double mean_ratio(const CapCandidate& a, const CapCandidate& b) {
  return mean(a.measured_ms) / mean(b.measured_ms);
}

Json interval_json(const std::optional<Interval>& interval) {
  return interval ? Json{interval->low, interval->high} : Json();
}

Json link_json(const LinkModel& link) {
  Json segments = Json::array();
  for (const LinkSegment& s : link.segments)
    segments.push_back(
        {{"from_bytes", s.from_bytes}, {"alpha_us", s.alpha_us}, {"beta_us_per_byte", s.beta_us_per_byte}});
  return segments;
}

Json work_json(const StepWork& work, const std::vector<std::string>& names) {
  Json gradients = Json::array();
  for (std::size_t i = 0; i < work.gradients.size(); ++i) {
    const GradientWork& g = work.gradients[i];
    gradients.push_back({{"name", i < names.size() ? Json(names[i]) : Json()},
                         {"bytes", g.bytes},
                         {"ready_us", g.ready_us},
                         {"update_us", g.update_us}});
  }
  return {{"backward_end_us", work.backward_end_us},
          {"clip_us", work.clip_us},
          {"rest_us", work.rest_us},
          {"wait_for_all", work.wait_for_all},
          {"overlap", work.overlap},
          {"gradients", std::move(gradients)}};
}

}  // namespace

std::vector<std::size_t> worth_trying(const CapChoice& choice) {
  const auto predicted = [&](std::size_t i) { return choice.candidates[i].predicted_ms; };
  std::vector<std::size_t> others(choice.candidates.size());
  std::iota(others.begin(), others.end(), std::size_t{0});
  std::sort(others.begin(), others.end(), [&](auto a, auto b) { return predicted(a) < predicted(b); });
  const double limit = kWorthTrying * predicted(others.front());
  std::erase_if(others, [&](std::size_t i) { return i == choice.standard || predicted(i) > limit; });
  others.resize(std::min(others.size(), kMostTried));
  others.insert(others.begin(), choice.standard);
  return others;
}

void decide(CapChoice& choice) {
  std::vector<std::size_t> tried;  // the standard one first
  std::vector<std::vector<double>> launches;
  for (std::size_t i = 0; i < choice.candidates.size(); ++i)
    if (!choice.candidates[i].measured_ms.empty())
      tried.insert(i == choice.standard ? tried.begin() : tried.end(), i);
  for (const std::size_t i : tried) launches.push_back(choice.candidates[i].measured_ms);

  choice.chosen = choice.standard;
  if (tried.size() < 2) {
    if (choice.reason.empty()) choice.reason = "no other cap is predicted to be faster";
    return;
  }
  const CapCandidate& standard = choice.candidates[choice.standard];
  for (std::size_t k = 1; k < tried.size(); ++k) {
    CapCandidate& candidate = choice.candidates[tried[k]];
    candidate.ratio = block_ratio_interval(launches, k, 0, bonferroni(tried.size() - 1));
    const bool faster = candidate.ratio && candidate.ratio->high < 1;
    if (faster && mean_ratio(candidate, standard) < mean_ratio(choice.candidates[choice.chosen], standard))
      choice.chosen = tried[k];
  }
  choice.reason = choice.chosen == choice.standard
                      ? "no other cap's interval lies below 1: the standard one stays"
                      : "faster than the standard cap: the interval of the ratio lies below 1";
}

std::string cap_table(const CapChoice& choice) {
  std::string text;
  const auto out = std::back_inserter(text);
  if (!choice.link.segments.empty())
    fmt::format_to(out,
                   "  link     alpha {:.0f} us, {:.3g} GB/s among {} ranks; beside compute collectives take "
                   "{:.2f} times as long, compute {:.2f}\n",
                   choice.link.latency_us(), choice.link.bandwidth_gb_s(), choice.ranks,
                   choice.contention.load, choice.contention.slowdown);
  fmt::format_to(out, "  {:>8}  {:>7}  {:>12}  {:>11}  {}\n", "cap MiB", "buckets", "predicted ms",
                 "measured ms", "ratio to the standard cap");
  for (std::size_t i = 0; i < choice.candidates.size(); ++i) {
    const CapCandidate& c = choice.candidates[i];
    fmt::format_to(out, "  {:>8g}  {:>7}  {:>12.2f}", c.cap_mb, c.buckets, c.predicted_ms);
    if (!c.measured_ms.empty()) fmt::format_to(out, "  {:>11.2f}", mean(c.measured_ms));
    if (i == choice.standard)
      fmt::format_to(out, "{}standard", c.measured_ms.empty() ? "               " : "  ");
    else if (c.ratio)
      fmt::format_to(out, "  {:.3f} [{:.3f}, {:.3f}]", mean_ratio(c, choice.candidates[choice.standard]),
                     c.ratio->low, c.ratio->high);
    fmt::format_to(out, "{}\n", i == choice.chosen ? "  <- taken" : "");
  }
  fmt::format_to(out, "  taken: {:g} MiB. {}\n", choice.cap_mb(), choice.reason);
  return text;
}

std::string to_json(const CapChoice& choice) {
  Json candidates = Json::array();
  for (const CapCandidate& c : choice.candidates)
    candidates.push_back({{"cap_mb", c.cap_mb},
                          {"buckets", c.buckets},
                          {"predicted_ms", c.predicted_ms},
                          {"measured_ms", c.measured_ms.empty() ? Json() : Json(c.measured_ms)},
                          {"ratio_ci", interval_json(c.ratio)}});
  const Json json = {{"cap_mb", choice.cap_mb()},
                     {"standard_mb", choice.candidates.at(choice.standard).cap_mb},
                     {"reason", choice.reason},
                     {"link", link_json(choice.link)},
                     {"load", choice.contention.load},
                     {"slowdown", choice.contention.slowdown},
                     {"work", work_json(choice.work, choice.gradient_names)},
                     {"candidates", std::move(candidates)}};
  return json.dump();
}

}  // namespace tandem

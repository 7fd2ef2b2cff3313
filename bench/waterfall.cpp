#include "bench/waterfall.h"

#include <algorithm>
#include <cmath>

namespace tandem::bench {
namespace {

constexpr double kUnexplained = 0.01;

using Part = std::optional<double> (*)(const RankSummary&);

const RankSummary& longest_rank(const Summary& summary) {
  return *std::max_element(summary.ranks.begin(), summary.ranks.end(),
                           [](const auto& a, const auto& b) { return a.step_ms < b.step_ms; });
}

/// Mean over the launches, each on its longest rank; empty unless all have it.
std::optional<double> mean_of(const Group& group, Part part) {
  std::vector<double> values;
  for (const auto& launch : group.launches) {
    const auto value = part(longest_rank(launch.summary));
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return mean(values);
}

std::optional<double> compute(const RankSummary& r) {
  if (!r.forward_ms || !r.backward_ms) return std::nullopt;
  return *r.forward_ms + *r.backward_ms;
}
/// A rank alone waits for nobody, and has nothing to transfer.
std::optional<double> exposed_transfer(const RankSummary& r) {
  return r.exposed_transfer_ms ? r.exposed_transfer_ms : r.exposed_comm_ms;
}
std::optional<double> exposed_wait(const RankSummary& r) {
  return r.exposed_wait_ms.value_or(0);
}
/// A device idles for want of input; a host stands still for it.
std::optional<double> data(const RankSummary& r) {
  return r.data_bubble_ms ? r.data_bubble_ms : r.data_wait_ms;
}
std::optional<double> optimizer(const RankSummary& r) {
  return r.optimizer_ms;
}
std::optional<double> host(const RankSummary& r) {
  return r.host_ms ? r.host_ms : r.host_gap_ms;
}

const Group* group_named(const ScalingReport& report, const ScalingRow& row) {
  for (const auto& other : report.rows)
    if (other.regime == row.regime && other.group.role != Role::ddp &&
        other.group.name() == row.against.at(0).baseline &&
        (row.regime == Regime::weak ? other.group.run().batch == row.group.run().batch
                                    : other.group.run().global_batch == row.group.run().global_batch))
      return &other.group;
  return nullptr;
}

}  // namespace

bool Waterfall::explained() const {
  return std::abs(residual_ms) <= kUnexplained * step_ms;
}

std::optional<Waterfall> waterfall(const ScalingRow& row, const Group& baseline) {
  const double share = row.regime == Regime::weak ? 1.0 : 1.0 / row.group.run().ranks;
  Waterfall w{row.group.name(),
              std::string(name_of(row.regime)),
              baseline.name(),
              share * baseline.step_ms(),
              row.group.step_ms(),
              0,
              {},
              0};
  w.loss_ms = w.residual_ms = w.step_ms - w.ideal_ms;
  const std::pair<const char*, Part> parts[] = {
      {"compute", compute},           {"exposed transfer", exposed_transfer},
      {"exposed wait", exposed_wait}, {"data", data},
      {"optimizer", optimizer},       {"host", host}};
  for (const auto& [name, part] : parts) {
    const auto here = mean_of(row.group, part), alone = mean_of(baseline, part);
    if (!here && name != std::string("host")) return std::nullopt;
    if (!here) continue;
    w.parts.emplace_back(name, *here - share * alone.value_or(0));
    w.residual_ms -= w.parts.back().second;
  }
  return w;
}

std::vector<Waterfall> waterfalls(const ScalingReport& report) {
  std::vector<Waterfall> all;
  for (const auto& row : report.rows) {
    if (row.group.role != Role::ddp || row.against.empty()) continue;
    if (const Group* baseline = group_named(report, row))
      if (auto w = waterfall(row, *baseline)) all.push_back(std::move(*w));
  }
  return all;
}

}  // namespace tandem::bench

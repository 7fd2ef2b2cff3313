#include "bench/sweep_output.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/format.h"
#include "bench/table.h"

namespace tandem::bench {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

const char* on_off(bool on) {
  return on ? "on" : "off";
}

std::optional<double> exposed_ms(const SweepPoint& point) {
  std::vector<double> values;
  for (const auto& launch : point.launches) {
    if (!launch.summary.exposed_comm_ms) return std::nullopt;
    values.push_back(*launch.summary.exposed_comm_ms);
  }
  return mean(values);
}

Table make_table(const SweepReport& report) {
  Table table({"cap MB", "b", "overlap", "view", "buckets", "step ms ± CI", "samples/s", "exposed comm ms",
               "ratio to best", "interval", "verdict"});
  for (const auto& row : report.rows) {
    const SweepPoint& p = row.point;
    const auto buckets = p.launches[0].summary.buckets.size();
    table.add({fmt::format("{:g}", p.bucket_mb), std::to_string(p.batch), on_off(p.overlap), on_off(p.view),
               buckets > 0 ? std::to_string(buckets) : "–", with_interval(p.step_ms(), p.step_ms_ci()),
               cell(p.samples_per_s(), 1), cell(exposed_ms(p), 2), cell(row.ratio, 3), range(row.ratio_ci),
               row.verdict});
  }
  return table;
}

std::string notes(const SweepReport& report, const std::string& bullet) {
  std::string text;
  for (const auto& note : report.notes) text += bullet + note + "\n";
  return text;
}

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json interval(const std::optional<Interval>& value) {
  return value ? Json{value->low, value->high} : Json();
}

Json record(const SweepRow& row, int ranks, const std::string& folder) {
  const SweepPoint& p = row.point;
  Json json{{"ranks", ranks},
            {"bucket_mb", p.bucket_mb},
            {"batch", p.batch},
            {"overlap", p.overlap},
            {"gradient_as_bucket_view", p.view},
            {"launches", p.launches.size()},
            {"step_ms", p.step_ms()},
            {"step_ms_ci", interval(p.step_ms_ci())},
            {"samples_per_s", p.samples_per_s()},
            {"exposed_comm_ms", number(exposed_ms(p))},
            {"ratio", row.ratio},
            {"ratio_ci", interval(row.ratio_ci)},
            {"verdict", row.verdict}};
  json["runs"] = Json::array();
  for (const auto& launch : p.launches)
    json["runs"].push_back(fs::proximate(launch.run.directory, folder).string());
  return json;
}

/// A horizontal scale from the lowest to the highest end of a series' intervals.
struct Scale {
  double low, high;
  static constexpr std::size_t kWidth = 50;

  std::size_t column(double value) const {
    if (high <= low) return 0;
    return static_cast<std::size_t>(std::lround((value - low) / (high - low) * (kWidth - 1)));
  }
};

Interval ends(const SweepPoint& point) {
  return point.step_ms_ci().value_or(Interval{point.step_ms(), point.step_ms()});
}

/// "    ├──●──┤   " on the scale.
std::string bar(const SweepPoint& point, const Scale& scale) {
  const Interval range = ends(point);
  const auto from = scale.column(range.low), middle = scale.column(point.step_ms()),
             to = scale.column(range.high);
  std::string line;
  for (std::size_t c = 0; c < Scale::kWidth; ++c)
    line += c == middle ? "●" : c == from ? "├" : c == to ? "┤" : c > from && c < to ? "─" : " ";
  return line;
}

std::string series_chart(const std::string& title, const std::vector<const SweepPoint*>& points) {
  Scale scale{ends(*points[0]).low, ends(*points[0]).high};
  for (const auto* p : points) {
    scale.low = std::min(scale.low, ends(*p).low);
    scale.high = std::max(scale.high, ends(*p).high);
  }
  std::string text = fmt::format("{}, {:.2f} to {:.2f} ms\n", title, scale.low, scale.high);
  for (const auto* p : points)
    text += fmt::format("  {:>8g} MB  |{}|  {:.2f}\n", p->bucket_mb, bar(*p, scale), p->step_ms());
  return text;
}

}  // namespace

std::string chart(const SweepReport& report) {
  std::map<std::tuple<std::int64_t, bool, bool>, std::vector<const SweepPoint*>> series;
  for (const auto& row : report.rows)
    series[{row.point.batch, !row.point.overlap, !row.point.view}].push_back(&row.point);
  std::string text;
  for (auto& [key, points] : series) {
    if (points.size() < 2) continue;
    std::stable_sort(points.begin(), points.end(),
                     [](const auto* a, const auto* b) { return a->bucket_mb < b->bucket_mb; });
    text += series_chart(fmt::format("step time over caps: b {}, overlap {}, view {}", points[0]->batch,
                                     on_off(points[0]->overlap), on_off(points[0]->view)),
                         points);
  }
  return text;
}

std::string to_text(const SweepReport& report) {
  return make_table(report).text() + "\n" + chart(report) + notes(report, "note: ");
}

std::string to_markdown(const SweepReport& report) {
  const Run& run = report.rows[0].point.launches[0].run;
  std::string text = fmt::format("# Sweep of {} ({} parameters) on {} ranks\n\n{}\n", run.model,
                                 run.parameters, report.ranks, make_table(report).markdown());
  if (const auto bars = chart(report); !bars.empty()) text += "```\n" + bars + "```\n\n";
  text += notes(report, "- ") + "\nEnvironment:\n\n";
  for (const auto& [key, value] : run.environment) text += fmt::format("- {}: {}\n", key, value);
  return text;
}

std::string to_csv(const SweepReport& report) {
  Table table({"ranks", "bucket_mb", "batch", "overlap", "gradient_as_bucket_view", "launches", "step_ms",
               "step_ms_low", "step_ms_high", "samples_per_s", "exposed_comm_ms", "ratio", "ratio_low",
               "ratio_high", "verdict"});
  const auto low = [](const std::optional<Interval>& i) { return i ? exact(i->low) : ""; };
  const auto high = [](const std::optional<Interval>& i) { return i ? exact(i->high) : ""; };
  for (const auto& row : report.rows) {
    const SweepPoint& p = row.point;
    table.add({std::to_string(report.ranks), fmt::format("{:g}", p.bucket_mb), std::to_string(p.batch),
               on_off(p.overlap), on_off(p.view), std::to_string(p.launches.size()), exact(p.step_ms()),
               low(p.step_ms_ci()), high(p.step_ms_ci()), exact(p.samples_per_s()), exact(exposed_ms(p)),
               exact(row.ratio), low(row.ratio_ci), high(row.ratio_ci), row.verdict});
  }
  return table.csv();
}

std::string to_json(const SweepReport& report, const std::string& folder) {
  Json json{{"version", 1}, {"records", Json::array()}};
  for (const auto& row : report.rows) json["records"].push_back(record(row, report.ranks, folder));
  json["notes"] = report.notes;
  json["environment"] = report.rows[0].point.launches[0].run.environment;
  return json.dump(2) + "\n";
}

void write_files(const SweepReport& report, const std::string& folder) {
  write_file(folder + "/sweep.json", to_json(report, folder));
  write_file(folder + "/sweep.csv", to_csv(report));
  write_file(folder + "/sweep.md", to_markdown(report));
}

}  // namespace tandem::bench

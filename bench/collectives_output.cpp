#include <cmath>

#include <nlohmann/json.hpp>

#include "bench/collectives.h"
#include "bench/table.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tandem::bench {

namespace {

using Json = nlohmann::ordered_json;

std::string number(double value) {
  return value < 10 ? fmt::format("{:.3f}", value) : fmt::format("{:.1f}", value);
}

const char* reduction(Collective op) {
  return op == Collective::all_reduce || op == Collective::reduce_scatter ? "sum" : "none";
}

const char* root(Collective op) {
  return op == Collective::broadcast ? "0" : "-1";
}

void add_figures(std::vector<std::string>& cells, const CollectiveFigures& f) {
  for (const double value : {f.mean_us, f.p50_us, f.p99_us, f.algbw_gb_s, f.busbw_gb_s})
    cells.push_back(number(value));
}

std::string table_of(const CollectivesReport& report, Collective op) {
  std::vector<std::string> headings = {"size B", "count",  "type",       "redop",      "root",  "time us",
                                       "p50 us", "p99 us", "algbw GB/s", "busbw GB/s", "#wrong"};
  const bool graphs = report.rows.front().in_graph.has_value();
  if (graphs)
    headings.insert(headings.end(), {"in graph: time us", "p50 us", "p99 us", "algbw GB/s", "busbw GB/s"});
  Table table(headings);
  for (const CollectiveRow& row : report.rows) {
    if (row.op != op) continue;
    std::vector<std::string> cells = {std::to_string(row.bytes), std::to_string(row.count), "float",
                                      reduction(op), root(op)};
    add_figures(cells, row.figures);
    cells.push_back(std::to_string(row.wrong));
    if (row.in_graph) add_figures(cells, *row.in_graph);
    table.add(std::move(cells));
  }
  return table.text();
}

std::string fit_text(const LinkModel& link) {
  std::string text = "  t = alpha + beta n, fitted to p50:\n";
  for (std::size_t i = 0; i < link.segments.size(); ++i) {
    const LinkSegment& s = link.segments[i];
    text +=
        fmt::format("    {}: alpha {:.2f} us, beta {:.4g} us/MB ({})\n",
                    i == 0 ? "from the smallest" : "from " + human_bytes(s.from_bytes), s.alpha_us,
                    s.beta_us_per_byte * 1e6,
                    s.beta_us_per_byte > 0 ? fmt::format("{:.4g} GB/s", 1e-3 / s.beta_us_per_byte) : "flat");
  }
  if (std::isfinite(link.half_bandwidth_bytes()))
    text += fmt::format("    half of the bandwidth is reached at {} (alpha / beta)\n",
                        human_bytes(link.half_bandwidth_bytes()));
  return text + fmt::format("    no size is off by more than {:.0f}%\n", 100 * link.worst_error);
}

std::vector<Collective> kinds(const CollectivesReport& report) {
  std::vector<Collective> kinds;
  for (const CollectiveRow& row : report.rows)
    if (kinds.empty() || kinds.back() != row.op) kinds.push_back(row.op);
  return kinds;
}

Json json_of(const CollectiveFigures& f) {
  return {{"time_us", f.mean_us},
          {"p50_us", f.p50_us},
          {"p99_us", f.p99_us},
          {"algbw_gb_s", f.algbw_gb_s},
          {"busbw_gb_s", f.busbw_gb_s}};
}

Json json_of(const LinkModel& link) {
  Json segments = Json::array();
  for (const LinkSegment& s : link.segments)
    segments.push_back(
        {{"from_bytes", s.from_bytes}, {"alpha_us", s.alpha_us}, {"beta_us_per_byte", s.beta_us_per_byte}});
  return {{"segments", std::move(segments)},
          {"half_bandwidth_bytes", link.half_bandwidth_bytes()},
          {"worst_error", link.worst_error}};
}

}  // namespace

std::string to_text(const CollectivesReport& report) {
  std::string text =
      fmt::format("{} ranks, {} on {}, {} calls after {}; times are maxima over ranks, 1 GB = 10^9 B\n",
                  report.ranks, report.backend, report.device, report.calls, report.warmup);
  for (const Collective op : kinds(report)) {
    text += fmt::format("\n{}\n{}", name_of(op), table_of(report, op));
    if (const auto link = report.link(op)) text += fit_text(*link);
  }
  text += report.wrong() == 0 ? "\nEvery element of every result is right.\n"
                              : fmt::format("\nWRONG: {} elements.\n", report.wrong());
  return text;
}

std::string to_json(const CollectivesReport& report) {
  Json rows = Json::array(), links = Json::object();
  for (const CollectiveRow& row : report.rows) {
    Json json = {{"op", name_of(row.op)},
                 {"bytes", row.bytes},
                 {"count", row.count},
                 {"type", "float"},
                 {"redop", reduction(row.op)}};
    json.update(json_of(row.figures));
    json["in_graph"] = row.in_graph ? json_of(*row.in_graph) : Json();
    json["wrong"] = row.wrong;
    rows.push_back(std::move(json));
  }
  for (const Collective op : kinds(report))
    if (const auto link = report.link(op)) links[std::string(name_of(op))] = json_of(*link);
  const Json json = {{"version", 1},
                     {"ranks", report.ranks},
                     {"backend", report.backend},
                     {"device", report.device},
                     {"iterations", report.calls},
                     {"warmup", report.warmup},
                     {"rows", std::move(rows)},
                     {"links", std::move(links)}};
  return json.dump(2) + "\n";
}

}  // namespace tandem::bench

#include "bench/fault_lab.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/table.h"

namespace tandem::bench {
namespace {

/// A transformer small enough for a run of seconds, whose gradient falls into several buckets.
const std::vector<std::string> kModel = {
    "--model", "gpt-nano", "--width",     "128", "--heads",           "4",   "--seq",   "64",
    "--batch", "8",        "--bucket-mb", "0.5", "--first-bucket-mb", "0.1", "--steps", "90"};

bool takes_value(const std::vector<std::string>& words, std::size_t i) {
  return i + 1 < words.size() && !words[i + 1].starts_with("--");
}

/// Sets what takes a value, adds what does not; --inject may stand several times.
void add_options(TrainOptions& options, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!takes_value(words, i)) {
      options.add_flag(words[i]);
      continue;
    }
    if (words[i] == "--inject") {
      options.add_flag("--inject=" + words[i + 1]);
    } else {
      options.set(words[i], words[i + 1]);
    }
    ++i;
  }
}

int count_of(const std::string& name, const std::vector<std::string>& names) {
  return static_cast<int>(std::count(names.begin(), names.end(), name));
}

}  // namespace

std::vector<Scenario> fault_scenarios() {
  return {
      {"healthy", "", {}, {}, false},
      {"healthy, K 2", "", {}, {"--accumulate", "2"}, false},
      {"healthy, clipped", "", {}, {"--clip", "1"}, false},
      {"healthy, a link with latency", "", {}, {"--inject", "link=10gbit+50us"}, false},
      {"healthy, b 16", "", {}, {"--batch", "16", "--steps", "60"}, false},
      {"slow rank", "straggler", {}, {"--inject", "slow=1:15"}, false},
      {"slow rank, now this one now that", "random straggler", {}, {"--inject", "slow=any:15"}, false},
      {"slow link", "transfer-bound", {}, {"--inject", "link=200mbit"}, false},
      {"loader stalls", "data-bound", {}, {"--inject", "stall=loader:6"}, false},
      {"tiny buckets",
       "latency-bound buckets",
       {},
       {"--bucket-mb", "0.002", "--first-bucket-mb", "0.002", "--inject", "link=10gbit+300us"},
       false},
      {"no overlap", "no overlap", {}, {"--no-overlap", "--inject", "link=4gbit"}, false},
      {"one bucket",
       "late gradients",
       {},
       {"--bucket-mb", "100", "--first-bucket-mb", "100", "--inject", "link=4gbit"},
       false},
      {"every micro-batch reduced",
       "hidden accumulation cost",
       {},
       {"--accumulate", "4", "--sync-every-micro-batch", "--steps", "60"},
       false},
      {"one core for all", "cores", {"straggler", "random straggler"}, {"--bind", "keep"}, true},
  };
}

TrainOptions options_of(const Scenario& scenario, const TrainOptions& user) {
  TrainOptions options(std::vector<std::string>{});
  add_options(options, kModel);
  add_options(options, user.words());
  add_options(options, scenario.options);
  return options;
}

std::string name_of_finding(const std::string& line) {
  return line.substr(0, line.find(':'));
}

bool Diagnosed::hit() const {
  return scenario.expected.empty() ? found.empty() : found == std::vector{scenario.expected};
}

LabScore score(const std::vector<Diagnosed>& runs) {
  LabScore s;
  for (const auto& run : runs) {
    const bool healthy = run.scenario.expected.empty();
    const int right = healthy ? 0 : count_of(run.scenario.expected, run.found);
    s.right += right;
    s.missed += healthy ? 0 : 1 - right;
    s.wrong += static_cast<int>(run.found.size()) - right;
    s.healthy += healthy;
    s.healthy_clean += healthy && run.found.empty();
  }
  return s;
}

std::string to_text(const std::vector<Diagnosed>& runs) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && count_of(name, names) == 0) names.push_back(name);
  };
  for (const auto& run : runs) add(run.scenario.expected);
  for (const auto& run : runs)
    for (const auto& name : run.found) add(name);
  std::vector<std::string> headings{"scenario"};
  headings.insert(headings.end(), names.begin(), names.end());
  headings.push_back("");
  Table table(headings);
  for (const auto& run : runs) {
    std::vector<std::string> row{run.scenario.name};
    for (const auto& name : names) {
      const bool made = count_of(name, run.found) > 0, expected = name == run.scenario.expected;
      row.push_back(made && expected ? "●" : made ? "wrong" : expected ? "missed" : "·");
    }
    row.push_back(run.hit() ? "" : "✗");
    table.add(row);
  }
  const LabScore s = score(runs);
  return table.text() +
         fmt::format(
             "\nprecision {:.2f} ({} of {} findings right), recall {:.2f} ({} of {} faults found), "
             "{} of {} healthy controls without a finding\n",
             s.precision(), s.right, s.right + s.wrong, s.recall(), s.right, s.right + s.missed,
             s.healthy_clean, s.healthy);
}

}  // namespace tandem::bench

#include "core/telemetry/trace.h"

#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/philox.h"

namespace tandem {
namespace {

using Json = nlohmann::json;

/// A step with odd times: phases that touch, waits over the edge of their phase, collectives back to back.
StepRecord step(std::int64_t number, double start_ms, int buckets, Philox& random) {
  StepRecord r;
  r.step = number;
  r.start_ms = start_ms;
  double at = 3 * random.uniform();
  for (const Phase phase : {Phase::data, Phase::forward, Phase::backward, Phase::optimizer}) {
    const double end = at + 100 * random.uniform() + 10;
    r.phases.push_back({phase, at, end});
    at = end;
  }
  r.step_ms = at * 1e-3;  // the last phase ends with the step, to the last digit
  const PhaseSpan backward = r.phases[2], update = r.phases[3];
  double free = 0;
  for (int b = 0; b < buckets; ++b) {
    BucketRecord bucket;
    bucket.id = b;
    bucket.bytes = 1000 * (b + 1);
    bucket.ready_us = backward.start_us + (backward.end_us - backward.start_us) * random.uniform();
    bucket.start_us = std::max(bucket.ready_us, free);
    free = bucket.end_us = bucket.start_us + 20 * random.uniform();
    bucket.wait_start_us = update.start_us;
    bucket.wait_end_us = b % 2 ? update.end_us + 0.0004 : update.start_us;  // rounds to beyond the phase
    bucket.applied_us = update.end_us;
    r.buckets.push_back(bucket);
  }
  return r;
}

Run random_run(int ranks, int steps, int buckets, std::uint64_t seed) {
  Run run;
  run.directory = "runs/\"quoted\"";
  run.ranks = ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    Philox random(seed, static_cast<std::uint64_t>(rank));
    auto& records = run.steps.emplace_back();
    run.logged_ranks.push_back(rank);
    double at = 0;
    for (int k = 0; k < steps; ++k) {
      records.push_back(step(k, at, buckets, random));
      at += records.back().step_ms;
    }
  }
  return run;
}

/// Thread → its slices in the order in which they begin, longer ones first.
using Slices = std::map<std::pair<int, int>, std::vector<std::pair<double, double>>>;

Slices slices_of(const Json& trace) {
  Slices slices;
  for (const Json& e : trace.at("traceEvents")) {
    if (e.at("ph") != "X") continue;
    const double start = e.at("ts"), duration = e.at("dur");
    EXPECT_GE(duration, 0) << e;
    slices[{e.at("pid"), e.at("tid")}].emplace_back(start, start + duration);
  }
  return slices;
}

void expect_nesting(Slices slices) {
  constexpr double kHalfTick = 5e-4;
  for (auto& [thread, all] : slices) {
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<double> open;  // ends of the slices that are still open
    for (const auto& [start, end] : all) {
      while (!open.empty() && open.back() <= start + kHalfTick) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(end, open.back() + kHalfTick) << "at " << start;
      }
      open.push_back(end);
    }
  }
}

void expect_whole_flows(const Json& trace, std::size_t expected) {
  std::map<std::int64_t, std::vector<Json>> flows;
  for (const Json& e : trace.at("traceEvents"))
    if (e.contains("id")) flows[e.at("id")].push_back(e);
  EXPECT_EQ(flows.size(), expected);
  const Slices slices = slices_of(trace);
  for (const auto& [id, events] : flows) {
    ASSERT_GE(events.size(), 3u);
    EXPECT_EQ(events.front().at("ph"), "s");
    EXPECT_EQ(events.back().at("ph"), "f");
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Json& e = events[i];
      const double at = e.at("ts");
      EXPECT_EQ(e.at("pid"), events[0].at("pid")) << "a bucket's arrow stays on its rank";
      if (i > 0) {
        EXPECT_GE(at, events[i - 1].at("ts").get<double>() - 1e-3) << "an arrow leads backwards";
      }
      const auto& on = slices.at({e.at("pid"), e.at("tid")});
      EXPECT_TRUE(std::any_of(on.begin(), on.end(),
                              [&](const auto& s) { return s.first <= at + 1e-3 && at <= s.second + 1e-3; }))
          << "bound to no slice: " << e;
    }
  }
}

TEST(Trace, SlicesNestAndEveryArrowHasBothEnds) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto run = random_run(3, 5, 4, seed);
    const Json trace = Json::parse(trace_json(run, {}, ClockAlignment(), Window{1, 3, false}));
    expect_nesting(slices_of(trace));
    expect_whole_flows(trace, 3u * 3u * 4u);
    std::set<std::string> names;
    for (const Json& e : trace.at("traceEvents"))
      if (e.at("ph") == "X") names.insert(e.at("name"));
    for (const char* name : {"step 1", "step 3", "data", "forward", "backward", "optimizer", "bucket 0"})
      EXPECT_TRUE(names.contains(name)) << name;
    EXPECT_FALSE(names.contains("step 0"));
    EXPECT_FALSE(names.contains("step 4"));
  }
}

TEST(Trace, RanksAreProcessesWithNamedThreads) {
  const Json trace =
      Json::parse(trace_json(random_run(2, 2, 1, 7), {}, ClockAlignment(), Window{0, 1, false}));
  std::set<std::string> names;
  for (const Json& e : trace.at("traceEvents"))
    if (e.at("ph") == "M") names.insert(e.at("args").at("name"));
  EXPECT_EQ(names, (std::set<std::string>{"rank 0", "rank 1", "host", "compute", "comm"}));
  EXPECT_TRUE(trace.at("otherData").at("clock_error_us").is_null());
}

TEST(Trace, WithoutPhasesThereAreNoArrowsToNowhere) {
  auto run = random_run(1, 2, 3, 9);
  for (StepRecord& r : run.steps[0]) r.phases.clear();
  const Json trace = Json::parse(trace_json(run, {}, ClockAlignment(), Window{0, 1, false}));
  expect_whole_flows(trace, 0);
}

TEST(Trace, EventsLieBetweenTheirSteps) {
  auto run = random_run(1, 4, 0, 5);
  for (int k = 2; k < 4; ++k) run.steps[0][static_cast<std::size_t>(k)].start_ms += 7;
  const double at = run.steps[0][1].start_ms + run.steps[0][1].step_ms;
  const EventRecord event{
      .step = 1, .kind = "evaluation", .start_ms = at, .duration_ms = 7, .text = "a \"b\""};
  const Json trace = Json::parse(trace_json(run, std::vector{event}, ClockAlignment(), Window{0, 3, false}));
  expect_nesting(slices_of(trace));
  bool found = false;
  for (const Json& e : trace.at("traceEvents"))
    found |= e.at("name") == "evaluation" && e.at("dur") == 7000.0;
  EXPECT_TRUE(found);
}

TEST(Trace, WindowIsTwentySteps) {
  EXPECT_EQ(trace_window(random_run(1, 300, 0, 1)), (Window{50, 69, false}));
  EXPECT_EQ(trace_window(random_run(1, 8, 0, 1)), (Window{0, 7, false}));
  auto run = random_run(1, 100, 0, 1);
  run.window = Window{95, 99, false};
  EXPECT_EQ(trace_window(run), (Window{95, 99, false}));
}

}  // namespace
}  // namespace tandem

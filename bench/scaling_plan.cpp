#include "bench/scaling_plan.h"

#include <algorithm>

#include "core/base/error.h"

namespace tandem::bench {
namespace {

constexpr std::int64_t kDefaultBatch = 8;    // of train
constexpr std::int64_t kDefaultSteps = 250;  // a full window, 50 to 249

struct Batches {
  std::optional<std::int64_t> batch;  ///< b of weak scaling; empty: as train has it from its --config
  std::int64_t global_batch = 0;      ///< B of strong scaling
};

Batches choose_batches(const ScalingRequest& request, int most_ranks) {
  const auto batch = request.options.count("--batch"), global = request.options.count("--global-batch");
  if (batch && global) throw UsageError("--batch and --global-batch contradict each other: give one of them");
  const std::int64_t rows = request.options.count("--accumulate").value_or(1) * most_ranks;  // K·P
  if (global) {
    if (*global % rows != 0)
      throw UsageError("--global-batch {} cannot be shared by {} ranks × {} micro-batches", *global,
                       most_ranks, rows / most_ranks);
    return {*global / rows, *global};
  }
  if (batch) return {*batch, *batch * rows};
  if (!request.options.has("--config")) return {kDefaultBatch, kDefaultBatch * rows};
  if (std::count(request.regimes.begin(), request.regimes.end(), Regime::strong) > 0)
    throw UsageError(
        "--config may hold the batch: give --batch or --global-batch after -- for strong scaling");
  return {};
}

void check_request(const ScalingRequest& request) {
  for (const char* option : {"--no-ddp", "--no-comm", "--dry-run", "--ranks", "--threads", "--log-dir"})
    if (request.options.has(option))
      throw UsageError("{} after --: tandem scaling decides that itself, leave it out", option);
  for (const int ranks : request.ranks)
    if (ranks < 1 || ranks > 4096) throw UsageError("--np {}: give numbers of ranks from 1 to 4096", ranks);
}

/// The options of a run without DDP: train refuses those that speak of buckets.
TrainOptions without_ddp(TrainOptions options) {
  for (const char* name : {"--bucket-mb", "--first-bucket-mb", "--bucket-order"}) options.remove_value(name);
  for (const char* name : {"--gradient-as-bucket-view", "--no-gradient-as-bucket-view", "--overlap",
                           "--no-overlap", "--sync-every-micro-batch"})
    options.remove_flag(name);
  options.add_flag("--no-ddp");
  return options;
}

/// Adds what one regime needs on 1, …, P ranks. `suffix` names the batch ("-b8", "-B16").
class Planner {
 public:
  Planner(ScalingPlan& plan, TrainOptions options, std::string suffix)
      : plan_(plan), options_(std::move(options)), suffix_(std::move(suffix)) {}

  void add(const std::string& name, int ranks, int copies, bool ddp) {
    TrainOptions options = ddp ? options_ : without_ddp(options_);
    options.keep_faults_of(ranks);
    plan_.configurations.push_back(
        {name + suffix_, fmt::format("{}{}", name, suffix_), ranks, copies, std::move(options)});
  }
  void add_baselines() {
    add("p1-plain", 1, 1, false);
    add("p1-buckets", 1, 1, true);
  }

 private:
  ScalingPlan& plan_;
  TrainOptions options_;
  std::string suffix_;
};

void add_weak(ScalingPlan& plan, const ScalingRequest& request, std::optional<std::int64_t> batch) {
  TrainOptions options = request.options;
  options.remove_value("--global-batch");
  if (batch) options.set("--batch", std::to_string(*batch));
  Planner planner(plan, std::move(options), batch ? fmt::format("-b{}", *batch) : "");
  planner.add_baselines();
  for (const int ranks : request.ranks) {
    if (ranks == 1) continue;
    if (request.uncoupled) planner.add(fmt::format("p1-uncoupled{}", ranks), 1, ranks, false);
    planner.add(fmt::format("p{}", ranks), ranks, 1, true);
  }
}

void add_strong(ScalingPlan& plan, const ScalingRequest& request, std::int64_t global_batch, bool weak_too) {
  TrainOptions options = request.options;
  options.remove_value("--batch");
  options.set("--global-batch", std::to_string(global_batch));
  const std::int64_t accumulate = request.options.count("--accumulate").value_or(1);
  Planner planner(plan, std::move(options), fmt::format("-B{}", global_batch));
  planner.add_baselines();
  for (const int ranks : request.ranks) {
    if (global_batch % (ranks * accumulate) != 0)
      throw UsageError("--global-batch {} cannot be shared by {} ranks × {} micro-batches", global_batch,
                       ranks, accumulate);
    const bool shared = weak_too && ranks == plan.most_ranks;  // there b·K·P = B
    if (ranks > 1 && !shared) planner.add(fmt::format("p{}", ranks), ranks, 1, true);
  }
}

}  // namespace

ScalingPlan plan_scaling(const ScalingRequest& given) {
  ScalingRequest request = given;
  std::sort(request.ranks.begin(), request.ranks.end());
  request.ranks.erase(std::unique(request.ranks.begin(), request.ranks.end()), request.ranks.end());
  check_request(request);
  if (request.ranks.empty() || request.ranks.back() == 1)
    throw UsageError("--np needs a number of ranks above 1: scaling compares it with 1");

  ScalingPlan plan;
  plan.most_ranks = request.ranks.back();
  const Batches batches = choose_batches(request, plan.most_ranks);
  const bool timed = request.options.has("--epochs") || request.options.has("--window");
  if (!timed) {
    plan.steps = request.options.count("--steps").value_or(kDefaultSteps);
    request.options.set("--steps", std::to_string(*plan.steps));
  }
  const auto wanted = [&](Regime r) {
    return std::count(request.regimes.begin(), request.regimes.end(), r) > 0;
  };
  if (wanted(Regime::weak)) add_weak(plan, request, batches.batch);
  if (wanted(Regime::strong)) add_strong(plan, request, batches.global_batch, wanted(Regime::weak));
  return plan;
}

void lengthen(ScalingPlan& plan, std::int64_t steps) {
  plan.steps = steps;
  for (auto& configuration : plan.configurations) {
    configuration.options.set("--steps", std::to_string(steps));
    configuration.options.set("--window", fmt::format("{}:{}", steps / 5, steps - 1));
  }
}

}  // namespace tandem::bench

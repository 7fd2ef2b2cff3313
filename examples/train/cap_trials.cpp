#include "examples/train/cap_trials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/comm/agreed.h"
#include "core/telemetry/collective_timer.h"
#include "core/telemetry/gather.h"
#include "examples/train/memory_check.h"
#include "examples/train/rehearsal.h"

namespace tandem::train {

namespace {

constexpr std::array kCapsMb = {0.1,  0.25, 0.5,  1.0,  2.0,   3.0,   5.0,   8.0,   12.0, 18.0,
                                25.0, 35.0, 50.0, 75.0, 100.0, 150.0, 200.0, 400.0, 800.0};
constexpr int kRounds = 5;
constexpr double kBlockMs = 250;  // of measured steps, at least two of them
constexpr std::int64_t kMostSteps = 20;

/// Keeps the steps of one trial, without its warm-up.
class TrialObserver final : public RunObserver {
 public:
  TrialObserver(Context& context, const Setup& setup, const BucketPlan& plan, std::int64_t warmup)
      : timer_(
            context, setup.probe(), bytes_of(plan),
            [this, warmup](const StepRecord& record) {
              if (record.step >= warmup) records_.push_back(record);
            },
            setup.captured_steps(context)) {}

  StepTimer& timer() override { return timer_; }
  void entered(std::int64_t step) override { step_ = step; }
  std::int64_t step() const override { return step_; }
  StepFacts facts_of_step(double lr) const override { return {.lr = lr, .loss_follows = true}; }
  void note(const std::string&, const std::string&) override {}
  void skipped(std::int64_t, double) override {}
  void evaluated(const Evaluation&, bool) override {}

  std::vector<StepRecord> take() {
    timer_.collect_rest();
    return std::move(records_);
  }

 private:
  static std::vector<std::int64_t> bytes_of(const BucketPlan& plan) {
    std::vector<std::int64_t> bytes;
    for (const BucketSpec& bucket : plan.buckets) bytes.push_back(bucket.bytes(plan.grad_dtype));
    return bytes;
  }

  std::vector<StepRecord> records_;
  std::int64_t step_ = 0;
  StepTimer timer_;  // last: its callback writes the records
};

/// A training without what does not belong into a trial: evaluation, schedules, faults at a certain step.
Setup trial_of(const Setup& setup, double cap_mb) {
  Setup trial = setup;
  Options& o = trial.options;
  o.bucket_mb = cap_mb;
  o.schedule = "constant";
  o.warmup_steps = o.eval_every = 0;
  o.explain_step.reset();
  std::erase_if(o.inject, [](const std::string& fault) { return fault.find('@') != std::string::npos; });
  trial.data.validation.reset();
  trial.init.reset();  // drawn values take as long
  return trial;
}

/// With phases and buckets timed, whatever the training will time.
Setup probed(Setup setup) {
  setup.options.probe = "bucket";
  setup.options.cuda_graph = "off";
  return setup;
}

class Trials {
 public:
  Trials(Context& context, World& world, const Setup& setup, const TrainingLoop& train)
      : context_(context), world_(world), setup_(setup), train_(train) {}

  CapChoice run() {
    choice_.ranks = world_.size();
    const bool done = measure_work() && predict() && try_out();
    if (!done) {
      for (CapCandidate& candidate : choice_.candidates) candidate.measured_ms.clear();
      choice_.reason = "asked to stop before the trials were over";
    }
    decide(choice_);
    return std::move(choice_);
  }

 private:
  using Ranks = std::vector<std::vector<StepRecord>>;

  /// What one rank computes in a step: every gradient in a bucket of its own, nobody to talk to. Of the
  /// slowest rank. Also plans the buckets of every cap.
  bool measure_work() {
    World alone(make_self_communicator(), Place{}, Binding{});
    Blueprint blueprint(context_, trial_of(setup_, /*cap_mb=*/1e-6));
    plan_caps(*blueprint.model, blueprint.plan);
    agreed(world_, context_, [&] {
      check_memory(context_, world_, setup_, blueprint.memory);
      return true;
    });
    const auto ranks = steps_of(alone, probed(trial_of(setup_, 1e-6)), std::move(blueprint),
                                /*warmup=*/2, /*measured=*/5);
    if (ranks.empty()) return false;
    std::vector<StepWork> works;
    for (const auto& steps : ranks)
      works.push_back(work_of(steps, setup_.waits_for_all(), setup_.options.overlap));
    choice_.work = *std::max_element(works.begin(), works.end(), [](const StepWork& a, const StepWork& b) {
      return replay(a, {}).step_us < replay(b, {}).step_us;
    });
    return true;
  }

  /// One candidate for each different plan. `each`: the plan in which every gradient has a bucket.
  void plan_caps(Module& model, const BucketPlan& each) {
    ParameterList order;
    for (const auto& entry : each.layout.entries()) {
      order.push_back(entry.parameter);
      choice_.gradient_names.push_back(entry.parameter->name);
    }
    dtype_ = each.grad_dtype;
    total_bytes_ = static_cast<double>(each.layout.numel() * static_cast<std::int64_t>(size_of(dtype_)));
    const double standard = Options().bucket_mb;
    for (const double cap : kCapsMb) {
      const auto plan = BucketPlan::make(model.parameters(), order,
                                         bucket_options(trial_of(setup_, cap).options), setup_.sampler.ranks);
      Plan made;
      for (const BucketSpec& bucket : plan.buckets) {
        made.counts.push_back(bucket.parameters.size());
        made.bytes.push_back(static_cast<double>(bucket.bytes(dtype_)));
      }
      if (plans_.empty() ||
          made.counts != plans_.back().counts) {  // else it is the same plan as a smaller cap's
        choice_.candidates.push_back({.cap_mb = cap, .buckets = made.counts.size()});
        plans_.push_back(std::move(made));
      }
      if (cap != standard) continue;
      choice_.standard = choice_.candidates.size() - 1;
      choice_.candidates.back().cap_mb = standard;
    }
  }

  /// Measures the link, and with the standard cap how compute and collectives hinder each other.
  bool predict() {
    choice_.link = measure_link(context_, world_.comm(), dtype_, total_bytes_);
    const double alone_us = replay(choice_.work, {}).step_us;
    block_ = std::clamp<std::int64_t>(std::llround(std::ceil(kBlockMs * 1e3 / alone_us)), 2, kMostSteps);
    const Setup setup = probed(trial_of(setup_, choice_.candidates[choice_.standard].cap_mb));
    const auto ranks = steps_of(world_, setup, Blueprint(context_, setup), /*warmup=*/2, 2 * block_);
    if (ranks.empty()) return false;
    choice_.contention = contention_of(ranks, alone_us, choice_.link);
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      StepWork work = bucketed(choice_.work, plans_[i].counts);
      for (std::size_t k = 0; k < work.gradients.size(); ++k) work.gradients[k].bytes = plans_[i].bytes[k];
      choice_.candidates[i].predicted_ms = replay(work, choice_.link, choice_.contention).step_us * 1e-3;
    }
    return true;
  }

  /// The best candidates in turn, round by round; odd rounds go backwards.
  bool try_out() {
    auto tried = worth_trying(choice_);
    if (tried.size() < 2) return true;
    for (int round = 0; round < kRounds; ++round) {
      for (const std::size_t i : tried) {
        const Setup setup = trial_of(setup_, choice_.candidates[i].cap_mb);
        const std::int64_t warmup = setup.captured(context_) ? 4 : 1;  // two plain ones, then two captures
        const auto ranks = steps_of(world_, setup, Blueprint(context_, setup), warmup, block_);
        if (ranks.empty()) return false;
        choice_.candidates[i].measured_ms.push_back(step_ms(ranks));
      }
      std::reverse(tried.begin(), tried.end());
    }
    return true;
  }

  /// The measured steps of a trial, of every rank; nothing if any rank was asked to stop.
  Ranks steps_of(World& world, Setup setup, Blueprint blueprint, std::int64_t warmup, std::int64_t measured) {
    setup.steps = warmup + measured;
    Replica replica(context_, setup, std::move(blueprint));
    if (!rehearsed_) rehearse(context_, world_, setup, replica, /*folder=*/"");
    rehearsed_ = true;
    TrialObserver observer(context_, setup, replica.plan, warmup);
    train_(world, setup, replica, observer);
    Ranks ranks = gather_records(observer.take(), world_.comm().control(), context_.control());
    const bool whole = std::all_of(ranks.begin(), ranks.end(),
                                   [&](const auto& records) { return std::ssize(records) == measured; });
    return whole ? ranks : Ranks{};
  }

  /// Mean over the steps, of the rank where it is longest.
  static double step_ms(const Ranks& ranks) {
    double longest = 0;
    for (const auto& steps : ranks) {
      double sum = 0;
      for (const StepRecord& step : steps) sum += step.step_ms;
      longest = std::max(longest, sum / static_cast<double>(steps.size()));
    }
    return longest;
  }

  struct Plan {
    std::vector<std::size_t> counts;  // gradients of each bucket
    std::vector<double> bytes;        // of each bucket, padding included
  };

  Context& context_;
  World& world_;
  const Setup& setup_;
  const TrainingLoop& train_;
  CapChoice choice_;
  std::vector<Plan> plans_;  // of the candidates
  DType dtype_ = DType::f32;
  double total_bytes_ = 0;
  std::int64_t block_ = 2;  // measured steps of a trial
  bool rehearsed_ = false;
};

}  // namespace

std::optional<CapChoice> choose_cap(Context& context, World& world, Setup& setup, const TrainingLoop& train) {
  if (!setup.options.auto_bucket_mb || setup.options.dry_run || setup.steps == 0) return {};
  const bool alone = world.size() == 1;
  if (world.rank() == 0) {
    fmt::print("buckets  --bucket-mb auto: {}\n",
               alone ? fmt::format("one rank reduces nothing, {:g} MiB stay", setup.options.bucket_mb)
                     : "measuring the link, then trial steps of the best caps");
    std::fflush(stdout);
  }
  if (alone) return {};
  CapChoice choice = Trials(context, world, setup, train).run();
  setup.options.bucket_mb = choice.cap_mb();
  if (world.rank() == 0) fmt::print("{}", cap_table(choice));
  return choice;
}

}  // namespace tandem::train

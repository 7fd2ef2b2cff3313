// Trains a model data-parallel. `train_steps` is the loop, top to bottom: fetch, forward, backward (buckets
// leave as they fill), wait, update. What stands around it makes its parts (examples/train/) and tells what
// happened (core/telemetry/).
#include <cstdio>
#include <exception>

#include "core/comm/agreed.h"
#include "core/comm/comm_scope.h"
#include "core/comm/launch.h"
#include "core/telemetry/faults.h"
#include "dataloader/input_feed.h"
#include "ddp/reducer.h"
#include "ddp/replicate.h"
#include "examples/train/cap_trials.h"
#include "examples/train/device.h"
#include "examples/train/evaluate.h"
#include "examples/train/feedback.h"
#include "examples/train/intro.h"
#include "examples/train/memory_check.h"
#include "examples/train/options.h"
#include "examples/train/product_rate.h"
#include "examples/train/recorder.h"
#include "examples/train/rehearsal.h"
#include "examples/train/replica.h"
#include "examples/train/sharding.h"
#include "examples/train/step_graphs.h"
#include "models/weights/export.h"
#include "optim/schedule.h"

namespace tandem::train {
namespace {

/// Clips and updates: bucket by bucket as their reductions arrive; with clipping or a loss scale, once all
/// have.
void update(Replica& replica, Reducer* reducer, Sharding& sharding, double clip, StepTimer& timer) {
  if (replica.needs_norm(clip)) {
    if (reducer)
      for (const Bucket& bucket : reducer->buckets()) reducer->wait(bucket);
    GradientNorm& norm = sharding.norm();
    norm.compute();
    if (replica.loss_scale) replica.optimizer->unscale(norm, *replica.loss_scale);
    if (clip > 0) replica.optimizer->clip(norm, clip);
  }
  if (!reducer) {
    replica.optimizer->update_all();
    return;
  }
  for (const Bucket& bucket : reducer->buckets()) {
    reducer->wait(bucket);
    replica.optimizer->update_slice(bucket.spec->offset, bucket.spec->numel);
    timer.bucket_applied(bucket.index);
  }
  sharding.gather();
}

void train_steps(Context& context, World& world, const Setup& setup, Replica& replica, RunObserver& recorder,
                 const SignalGuard& signals) {
  const Options& o = setup.options;
  StepTimer& timer = recorder.timer();
  const Faults faults(o.inject, world.size());
  const Schedule schedule = setup.schedule();
  DataLoader loader(context, setup.data.train, setup.sampler,
                    {.workers = static_cast<int>(o.workers), .prefetch = static_cast<int>(o.prefetch)});
  InputFeed feed(context, loader);
  std::optional<Evaluator> evaluator;
  if (setup.data.validation) evaluator.emplace(context, world.comm(), setup);

  IgnoreGradients no_reducer;
  std::optional<Reducer> reducer;
  if (o.ddp)
    reducer.emplace(context, world.comm(), replica.plan, replica.store,
                    ReducerOptions{o.overlap, o.gradient_as_bucket_view, !o.no_comm, &replica.hook},
                    &recorder.observer());
  GradientSink& sink = reducer ? static_cast<GradientSink&>(*reducer) : no_reducer;
  Sharding sharding(context, world.comm(), setup, replica, recorder.observer());
  StepFeedback feedback(context, world.comm(), o.ddp && !o.no_comm);
  CommScope comm_scope(world.comm(),
                       context.comm());  // buckets and feedback outlive what the comm stream does with them

  // A micro-batch's part of a step; the last one ends with the update. All that a graph holds is in here.
  StepGraphs graphs(context, setup.captured(context));
  const auto micro_step = [&](const Batch& batch, const MicroBatch& micro) {
    if (micro.first()) {
      replica.store.start_accumulation();
      replica.loss.start_accumulation();
    }
    Tensor logits;
    {
      const auto scope = timer.measure(Phase::forward);
      logits = replica.forward(context, batch.inputs);
      replica.loss.forward_backward(logits, batch.targets);
    }
    {
      const bool sync = micro.last() || o.sync_every_micro_batch;
      const auto scope = timer.measure(Phase::backward);
      if (reducer) reducer->start_backward(sync);
      replica.model.backward(context, /*dy=*/logits, sink);
      if (reducer && sync) reducer->finish();
    }
    if (!micro.last()) return;
    const auto scope = timer.measure(Phase::optimizer);
    update(replica, reducer ? &*reducer : nullptr, sharding, o.clip, timer);
  };

  const auto read_back = [&](std::int64_t step) {
    const StepFeedback::Result result = feedback.receive(step);
    timer.set_loss(step, result.loss, result.norm, result.loss_scale);
    if (result.skipped()) recorder.skipped(step, *result.loss_scale);
    return result.stop;
  };

  bool stop = false;
  for (std::int64_t step = 0; step < setup.steps && !stop; ++step) {
    recorder.entered(step);
    timer.start_step(step);
    faults.before_step(world.rank(), step);
    replica.optimizer->start_step(schedule.at(step));

    StepFacts facts = recorder.facts_of_step(schedule.at(step));
    for (MicroBatch micro{0, o.accumulate}; micro.index < micro.count; ++micro.index) {
      const Batch& batch = [&]() -> const Batch& {
        const auto scope = timer.measure(Phase::data);
        faults.before_batch();
        return feed.next();
      }();
      replica.loss.set_seed(
          faults.seed(world.rank(), step, 1.0 / static_cast<double>(batch.step_valid_targets)));
      graphs.run(micro, timer.measuring(), [&] { micro_step(batch, micro); });
      facts.samples += batch.samples;
      if (setup.sequence() > 0) facts.tokens += batch.valid_targets;
    }

    feedback.send(step, replica.loss.share(), replica.needs_norm(o.clip) ? sharding.norm().value() : Tensor(),
                  replica.loss_scale ? replica.loss_scale->scale() : Tensor(), signals.stop_requested());
    timer.end_step(facts);

    if (step > 0) stop = read_back(step - 1);  // by now all ranks know of it
    const bool end = stop || step + 1 == setup.steps;
    if (end) read_back(step);
    if (evaluator && (end || (o.eval_every > 0 && (step + 1) % o.eval_every == 0)))
      recorder.evaluated(evaluator->run(replica), /*classes=*/setup.sequence() == 0);
  }
  sharding.finish();
  if (stop) recorder.note("stopped", fmt::format("SIGUSR1: stopped after step {}", recorder.step()));
}

/// A failure while training: says in which step.
class StepError : public Error {
 public:
  StepError(std::int64_t step, const Error& cause)
      : Error(fmt::format("step {}: {}", step, cause.what())), exit_code_(cause.exit_code()) {}
  int exit_code() const override { return exit_code_; }

 private:
  int exit_code_;
};

/// Training with all that is told of it, in the console and in the run's folder.
void record_training(Context& context, World& world, const Setup& setup, const RunFacts& facts,
                     Replica& replica, const std::filesystem::path& folder, SignalGuard& signals) {
  rehearse(context, world, setup, replica, folder);
  Recorder recorder(context, world, setup, facts, signals, folder);
  try {
    train_steps(context, world, setup, replica, recorder, signals);
    if (setup.options.ddp && !setup.options.no_comm) check_replicas(context, world.comm(), replica.store);
  } catch (const Error& error) {
    throw StepError(recorder.step(), error);
  }
  recorder.finish(parameters_hash(context, replica.store));
}

/// One rank's run, from options to report. `parse_error`: what was wrong with the command line.
/// `device_note`: what is to be said of the device.
void run(Context& context, World& world, const CommandLine& line,
         const std::optional<UsageError>& parse_error, const std::string& device_note, SignalGuard& signals) {
  Setup setup = agreed(world, context, [&] {
    if (parse_error) throw *parse_error;
    return prepare(line.options, world.rank(), world.size());
  });
  const Options& options = setup.options;
  const auto cap_choice = choose_cap(
      context, world, setup, [&](World& ranks, const Setup& trial, Replica& copy, RunObserver& observer) {
        train_steps(context, ranks, trial, copy, observer, signals);
      });
  Blueprint blueprint(context, setup);
  const MemoryTable memory = blueprint.memory;
  RunFacts facts = gather_facts(context, world, setup, blueprint);
  if (cap_choice) facts.cap_choice = to_json(*cap_choice);
  if (world.rank() == 0) {
    if (!device_note.empty()) fmt::print("device   cpu: {}\n", device_note);
    if (!world.binding().note.empty()) fmt::print("{}\n", world.binding().note);
    fmt::print("{}", introduce(setup, facts, memory, /*buckets=*/options.dry_run));
    std::fflush(stdout);
  }
  if (options.dry_run) return;
  agreed(world, context, [&] {
    check_memory(context, world, setup, memory);
    return true;
  });

  const bool trains = setup.steps > 0;  // 0: weights in, weights out
  const std::filesystem::path folder = trains ? agree_on_folder(context, world, setup) : "";
  if (trains) facts.product_flops = measure_product_rate(context, options);
  Replica replica(context, setup, std::move(blueprint));
  if (options.ddp) replicate(context, world.comm(), replica.plan, replica.store);
  if (trains) record_training(context, world, setup, facts, replica, folder, signals);
  if (world.rank() == 0 && !options.export_to.empty()) {
    export_weights(context, setup.config, replica.store, options.export_to);
    fmt::print("Weights: {}\n", options.export_to);
  }
}

int fail(const std::string& rank, const std::exception& error) {
  std::fflush(stdout);
  fmt::print(stderr, "tandem: {}{}\n", rank, error.what());
  const auto* own = dynamic_cast<const Error*>(&error);
  return own ? own->exit_code() : 1;
}

int run_process(const CommandLine& line, const std::optional<UsageError>& parse_error, SignalGuard& signals) {
  const Options& o = line.options;
  auto [context, device_note, device_error] = choose_device(o, launched_place());
  auto world = World::join(
      context, {.bind = o.bind == "auto", .compute_threads = static_cast<int>(o.compute_threads)});
  const std::string name = fmt::format("rank {}: ", world->rank());
  try {
    run(context, *world, line, parse_error ? parse_error : device_error, device_note, signals);
    return 0;
  } catch (const AgreedError& error) {  // thrown by all ranks: one speaks for all
    if (error.speaker()) fail("", error);
    return error.exit_code();
  } catch (const std::exception& error) {  // thrown by this rank alone: the others must be told
    const int code = fail(name, error);
    world->comm().abort(code);
    return code;
  }
}

int run_ranks_as_threads(const CommandLine& line, SignalGuard& signals) {
  const Options& o = line.options;
  try {
    run_threads(static_cast<int>(*o.threads),
                [&](World& world) {
                  Context context = Context::cpu(static_cast<int>(o.compute_threads));
                  run(context, world, line, {}, /*device_note=*/"", signals);
                },
                {.bind = o.bind == "auto", .compute_threads = static_cast<int>(o.compute_threads)});
    return 0;
  } catch (const RankError& error) {
    return fail(fmt::format("rank {}: ", error.rank()), error);
  } catch (const std::exception& error) {
    return fail("", error);
  }
}

int start(int argc, char** argv) {
  CommandLine line;
  std::optional<UsageError> parse_error;
  try {
    line = parse(argc, argv);
    if (launched_ranks() > 0 && (line.options.ranks || line.options.threads))
      throw UsageError("--ranks and --threads start ranks themselves: leave them out under mpirun");
    if (line.options.ranks && line.message.empty())
      relaunch_under_mpirun(static_cast<int>(*line.options.ranks),
                            line.options.arguments_without({"--ranks"}));
  } catch (const UsageError& error) {
    parse_error = error;
  }
  if (!line.message.empty()) {
    fmt::print("{}\n", line.message);
    return 0;
  }
  SignalGuard signals;
  if (line.options.threads && !parse_error) return run_ranks_as_threads(line, signals);
  return run_process(line, parse_error, signals);
}

}  // namespace
}  // namespace tandem::train

int main(int argc, char** argv) {
  try {
    return tandem::train::start(argc, argv);
  } catch (const std::exception& error) {
    return tandem::train::fail("", error);
  }
}

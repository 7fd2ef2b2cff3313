#include "examples/train/recorder.h"

#include <algorithm>
#include <charconv>
#include <ctime>

#include "core/telemetry/explain.h"
#include "core/telemetry/faults.h"
#include "core/telemetry/findings.h"
#include "core/telemetry/gather.h"
#include "core/telemetry/prediction.h"
#include "core/telemetry/run_folder.h"
#include "core/telemetry/run_report.h"
#include "core/telemetry/summary.h"
#include "examples/train/paths.h"

namespace tandem::train {

namespace {

constexpr Window kFullWindow{50, 249, false};

std::optional<double> peak_seconds_per_unit(const RunFacts& facts) {
  return facts.peak_flops ? std::optional(facts.model_flop / *facts.peak_flops) : std::nullopt;
}

StepHistory reserve_history(const Setup& setup, const RunFacts& facts, const std::optional<Window>& window) {
  const std::int64_t needed = std::max(kFullWindow.last, window ? window->last : 0) + 1;
  const auto micro_batches = static_cast<std::size_t>(setup.options.accumulate);
  const std::size_t reductions =
      facts.buckets.size() * (setup.options.sync_every_micro_batch ? micro_batches : 1) + facts.others.size();
  return StepHistory(std::min(setup.steps, needed), reductions, 3 * micro_batches + 1);
}

}  // namespace

std::filesystem::path agree_on_folder(Context& context, World& world, const Setup& setup) {
  std::optional<UsageError> error;
  std::string folder;
  if (world.rank() == 0) {
    try {
      folder = make_run_folder(setup.options.log_dir, project_root() / "runs",
                               run_name(setup.options.model, world.size(), std::time(nullptr)))
                   .string();
    } catch (const UsageError& e) {
      error = e;
    }
  }
  world.agree(error ? &*error : nullptr, context);
  return broadcast_text(folder, world.comm().control(), context.control());
}

Recorder::Recorder(Context& context, World& world, const Setup& setup, const RunFacts& facts,
                   SignalGuard& signals, std::filesystem::path folder)
    : context_(context),
      world_(world),
      setup_(setup),
      facts_(facts),
      folder_(std::move(folder)),
      window_(setup.window),
      environment_(read_environment()),
      style_(ConsoleStyle::of(stdout)),
      log_(folder_, world.rank()),
      console_(world.rank() == 0 ? stdout : nullptr, style_,
               {.steps = setup.steps,
                .ranks = world.size(),
                .log_every = setup.options.log_every,
                .peak_seconds_per_unit = peak_seconds_per_unit(facts)}),
      history_(reserve_history(setup, facts, window_)),
      timer_(
          context, setup.probe(), wire_bytes_by_id(facts), [this](const StepRecord& r) { record(r); },
          setup.captured_steps(context)),
      sampler_(context.device().kind == DeviceKind::cuda ? GpuMonitor::open(context.bus_id()) : nullptr,
               folder_, world.rank(), [this] { return step(); }),
      registration_(signals, [this] { return last_words(); }) {
  if (const auto link = Faults(facts.injected, world.size()).link())
    slow_link_.emplace(timer_, *link, world.size(), wire_bytes_by_id(facts));
  for (const std::string& fault : facts.injected) note("injected fault", fault);
  clocks_at_start_ = read_clocks(world.comm().control(), context.control());
  if (world.rank() == 0) write_text_file(folder_ / "run.json", run_json(facts, environment_));
}

StepFacts Recorder::facts_of_step(double lr) const {
  return {.lr = lr, .sm_mhz = sampler_.sm_mhz(), .power_w = sampler_.power_w(), .loss_follows = true};
}

void Recorder::record(const StepRecord& record) {
  log_.append(record);
  console_.step(record);
  history_.add(record);
  if (setup_.options.explain_step == record.step) explained_ = record;
}

std::string Recorder::last_words() {
  const std::int64_t step = this->step();
  timer_.collect_rest();
  note("interrupted", fmt::format("in step {}", step));
  log_.flush();
  return fmt::format("rank {}: step {}", world_.rank(), step);
}

void Recorder::note(const std::string& kind, const std::string& text) {
  EventRecord event;
  event.step = step();
  event.kind = kind;
  event.inside_step = true;
  event.text = text;
  log_.append(event);
}

void Recorder::skipped(std::int64_t step, double loss_scale) {
  EventRecord event;
  event.step = step;
  event.kind = "skipped update";
  event.inside_step = true;
  event.text = fmt::format("gradients not finite with a loss scale of {}", loss_scale);
  log_.append(event);
  console_.print(fmt::format("step {}: update skipped, {}", step, event.text));
}

void Recorder::evaluated(const Evaluation& evaluation, bool classes) {
  const std::string accuracy = classes ? fmt::format(", accuracy {:.2f}%", 100 * evaluation.accuracy) : "";
  const std::string text =
      fmt::format("validation: loss {:.4f}{} ({} targets)", evaluation.loss, accuracy, evaluation.targets);
  event("evaluation", text);
  console_.print(fmt::format("after step {}: {}", step(), text));
}

/// How the ranks' logs lie beside each other in time, for `tandem trace`. Collective.
void Recorder::write_clocks() {
  Communicator& control = world_.comm().control();
  const auto at_end = read_clocks(control, context_.control());
  const auto first_steps = gather_texts(fmt::format("{:.3f}", first_step_us_), control, context_.control());
  if (world_.rank() != 0) return;
  std::vector<RankClock> ranks;
  for (std::size_t r = 0; r < at_end.size(); ++r)
    ranks.push_back({std::stod(first_steps[r]), {clocks_at_start_[r], at_end[r]}});
  write_text_file(folder_ / "clocks.json", clocks_json(ranks));
}

void Recorder::finish(std::uint64_t parameters_hash) {
  timer_.collect_rest();
  note("parameters", fmt::format("hash {:016x}", parameters_hash));
  log_.flush();
  write_clocks();
  const auto ranks = gather_records(history_.records(), world_.comm().control(), context_.control());
  std::vector<std::vector<StepRecord>> story;
  if (setup_.options.explain_step) {
    const std::vector<StepRecord> mine = explained_ ? std::vector{*explained_} : std::vector<StepRecord>{};
    story = gather_records(mine, world_.comm().control(), context_.control());
  }
  if (world_.rank() != 0) return;

  Summary summary = summarise(ranks, window_);
  summary.steps_run = step() + 1;
  for (auto& line : find_causes(facts_.places, environment_.cores, facts_.compute_threads))
    summary.findings.push_back(std::move(line));
  write_text_file(folder_ / "summary.json", to_json(summary));
  if (!story.empty() &&
      std::all_of(story.begin(), story.end(), [](const auto& r) { return r.size() == 1; })) {
    std::vector<StepRecord> records;
    for (const auto& rank : story) records.push_back(rank.front());
    console_.print(explain_step(records));
  }
  if (!facts_.buckets.empty()) console_.print(bucket_table(facts_));
  const bool once = facts_.communicate && !setup_.options.sync_every_micro_batch;
  console_.print(run_report(
      summary, {.ranks = world_.size(),
                .folder = std::filesystem::relative(folder_).string(),
                .injected = facts_.injected,
                .scaling_command = fmt::format("build/tandem scaling --np 1,{} --regime weak -- {}",
                                               std::max(2, world_.size()), setup_.measured_options()),
                .outlook = summary.window && once ? outlook(ranks, *summary.window, setup_.waits_for_all(),
                                                            setup_.options.overlap)
                                                  : "",
                .utf8 = style_.utf8,
                .model_flop = facts_.model_flop,
                .peak_flops = facts_.peak_flops,
                .product_flops = facts_.product_flops}));
  console_.print(fmt::format("Parameters: hash {:016x}{}", parameters_hash,
                             world_.size() > 1 && facts_.communicate ? ", the same on all ranks" : ""));
}

}  // namespace tandem::train

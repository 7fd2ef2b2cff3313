#include "examples/train/setup.h"

#include "dataloader/data_loader.h"
#include "examples/train/device.h"
#include "examples/train/paths.h"
#include "examples/train/step_graphs.h"
#include "models/weights/export.h"

namespace tandem::train {

namespace {

ModelConfig model_of(const Options& o) {
  ModelOverrides overrides;
  if (o.model == "mlp") {
    overrides.mlp_sizes = o.mlp_sizes;
    overrides.activation = o.activation == "gelu" ? ops::Activation::gelu : ops::Activation::relu;
  }
  overrides.layers = o.layers;
  overrides.width = o.width;
  overrides.heads = o.heads;
  overrides.vocabulary = o.vocab;
  overrides.sequence = o.seq;
  if (o.recompute == "gelu") overrides.recompute = Recompute::gelu;
  if (o.recompute == "block") overrides.recompute = Recompute::block;
  return model_config(o.model, overrides);
}

ModelInput input_of(const ModelConfig& config) {
  if (config.is_gpt())
    return {
        .kind = ModelInput::Kind::tokens, .sequence = config.gpt().sequence, .classes = classes_of(config)};
  return {.kind = ModelInput::Kind::features,
          .features = config.mlp().sizes.front(),
          .classes = classes_of(config)};
}

DataSets open_all(const Options& o, const ModelConfig& config) {
  const std::string standard = config.is_gpt() ? "text:" + default_text().string() : "synthetic";
  std::optional<DataSpec> validation;
  if (!o.val_data.empty()) validation = DataSpec::parse(o.val_data);
  return open_data(DataSpec::parse(o.data.empty() ? standard : o.data), validation, input_of(config));
}

std::int64_t batch_of(const Options& o, int ranks) {
  if (!o.global_batch) return o.batch;
  const std::int64_t share = o.accumulate * ranks;
  if (*o.global_batch % share != 0)
    throw UsageError("--global-batch {}: must be a multiple of ranks x --accumulate = {} x {}",
                     *o.global_batch, ranks, o.accumulate);
  return *o.global_batch / share;
}

std::optional<Window> window_of(const Options& o, std::int64_t steps) {
  if (o.window.empty()) return {};
  const Window window = parse_window(o.window);
  if (window.last >= steps) throw UsageError("--window {}: the run has steps 0 to {}", o.window, steps - 1);
  return window;
}

/// A word as a shell would have to be given it.
std::string quoted(const std::string& word) {
  const bool plain =
      word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+@") ==
      std::string::npos;
  return plain && !word.empty() ? word : fmt::format("'{}'", word);
}

}  // namespace

TensorSpec Setup::model_input() const {
  if (config.is_gpt()) return {DType::i32, {batch(), sequence()}};
  return {compute_dtype(options), {batch(), config.mlp().sizes.front()}};
}

bool Setup::waits_for_all() const {
  return options.clip > 0 || compute_dtype(options) == DType::f16;
}

bool Setup::captured(const Context& context) const {
  if (context.device().kind == DeviceKind::cpu || options.cuda_graph == "off") return false;
  const bool explains_plain_step = options.explain_step && *options.explain_step < StepGraphs::kFirstMeasured;
  return options.cuda_graph == "on" || !explains_plain_step;
}

Probe Setup::probe() const {
  if (options.probe == "off") return Probe::off;
  return options.probe == "step" ? Probe::step : Probe::bucket;
}

CapturedSteps Setup::captured_steps(const Context& context) const {
  CapturedSteps captured_steps{
      .on = captured(context), .every = options.probe_every, .first = StepGraphs::kFirstMeasured};
  if (options.explain_step && *options.explain_step >= captured_steps.first)
    captured_steps.first += (*options.explain_step - captured_steps.first) % captured_steps.every;
  return captured_steps;
}

Schedule Setup::schedule() const {
  Schedule schedule{.lr = *options.lr, .warmup_steps = options.warmup_steps, .total_steps = steps};
  if (options.schedule == "linear") schedule.kind = Schedule::Kind::linear;
  if (options.schedule == "cosine") schedule.kind = Schedule::Kind::cosine;
  return schedule;
}

std::string Setup::measured_options() const {
  std::vector<std::string> words;
  for (const std::string& word : options.arguments_without(
           {"--ranks", "--threads", "--log-dir", "--explain-step", "--log-every", "--export"}))
    if (word != "--no-ddp") words.push_back(quoted(word));
  return fmt::format("{}", fmt::join(words, " "));
}

Setup prepare(const Options& o, int rank, int ranks) {
  if (!o.ddp && ranks > 1)
    throw UsageError("--no-ddp trains on one rank, but {} were started; leave it out, or start one", ranks);
  Setup setup{
      .options = o, .config = model_of(o), .data = {}, .sampler = {}, .steps = 0, .window = {}, .init = {}};
  setup.data = open_all(o, setup.config);
  setup.sampler = {.dataset_size = setup.data.train->size(),
                   .batch = batch_of(o, ranks),
                   .micro_batches = o.accumulate,
                   .rank = rank,
                   .ranks = ranks,
                   .seed = o.seed,
                   .tail = o.tail == "drop" ? Tail::drop : Tail::pad};
  check_global_batch(*setup.data.train, setup.sampler);
  setup.steps = o.steps ? *o.steps : *o.epochs * setup.sampler.steps_per_epoch();
  setup.window = window_of(o, setup.steps);
  if (o.explain_step && *o.explain_step >= setup.steps)
    throw UsageError("--explain-step {}: the run has steps 0 to {}", *o.explain_step, setup.steps - 1);
  if (o.warmup_steps > setup.steps)
    throw UsageError("--warmup-steps {}: the run has only {} steps", o.warmup_steps, setup.steps);
  if (!o.init.empty()) setup.init = std::make_shared<const WeightsFile>(o.init, setup.config);
  if (!o.export_to.empty() && rank == 0 && !o.dry_run) prepare_export(o.export_to);
  return setup;
}

}  // namespace tandem::train

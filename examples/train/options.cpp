#include "examples/train/options.h"

#include <charconv>
#include <cmath>

#include <CLI/CLI.hpp>

#include "core/base/error.h"
#include "core/telemetry/step_timer.h"
#include "examples/train/comm_hook.h"
#include "tandem_version.h"

namespace tandem::train {

namespace {

/// CLI11 would take a number that is too large, or negative, for another one.
std::string seed_number(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return "";
  return fmt::format("{}: give a whole number from 0 to 2^64 - 1", text);
}

/// A number, or auto. CLI11 would take "auto" for a mistake.
void take_bucket_mb(const std::string& text, Options& o) {
  o.auto_bucket_mb = text == "auto";
  if (o.auto_bucket_mb) return;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), o.bucket_mb);
  if (error != std::errc() || end != text.data() + text.size())
    throw CLI::ValidationError("--bucket-mb", fmt::format("{}: give a number of MiB, or auto", text));
}

void add_model(CLI::App& app, Options& o) {
  auto group = [](CLI::Option* option) { return option->group("Model"); };
  group(
      app.add_option("--model", o.model, "mlp, gpt-nano, gpt-mini, gpt2, gpt2-medium, gpt2-large or gpt2-xl")
          ->capture_default_str());
  group(app.add_option("--mlp-sizes", o.mlp_sizes,
                       "mlp: features, hidden widths, classes (default: 784,1024,1024,10)")
            ->delimiter(','));
  group(app.add_option("--activation", o.activation, "mlp: relu or gelu")->capture_default_str());
  group(app.add_option("--layers", o.layers, "gpt: number of blocks (default: the preset's)"));
  group(app.add_option("--width", o.width,
                       "gpt: size of the residual stream, a multiple of heads (default: the preset's)"));
  group(app.add_option("--heads", o.heads, "gpt: attention heads (default: the preset's)"));
  group(
      app.add_option("--vocab", o.vocab, "gpt: number of token ids (default: the preset's; bytes need 256)"));
  group(app.add_option("--seq", o.seq, "gpt: tokens per sample, T (default: the preset's)"));
  group(app.add_option("--recompute", o.recompute,
                       "gpt: what backward computes once more to save memory: none, gelu or block")
            ->capture_default_str());
  group(
      app.add_option("--init", o.init,
                     "weights to start from: a .safetensors file or a folder with model.safetensors (gpt: as "
                     "Hugging Face's GPT-2), or an llm.c checkpoint (default: drawn from --seed)"));
  group(app.add_option("--export", o.export_to,
                       "write the weights after training, in fp32: to PATH.safetensors, or as a folder that "
                       "Hugging Face's GPT2LMHeadModel loads; with --steps 0 at once"));
}

void add_data(CLI::App& app, Options& o) {
  auto group = [](CLI::Option* option) { return option->group("Data"); };
  group(app.add_option(
      "--data", o.data,
      "idx:DIR (MNIST layout), tokens:GLOB (llm.c shards), tokens-raw:PATH (uint16), text:PATH (bytes of a "
      "file "
      "or folder), synthetic[:N] (default: a text of the project's own for gpt, synthetic for mlp)"));
  group(app.add_option("--val-data", o.val_data,
                       "data to evaluate on, written like --data (default: idx: its t10k files; text: the "
                       "last tenth, held back)"));
  group(app.add_option("--batch", o.batch, "b: samples per rank and micro-batch")->capture_default_str());
  group(app.add_option("--global-batch", o.global_batch,
                       "B: samples per optimizer step over all ranks; sets b (strong scaling)"));
  group(
      app.add_option("--steps", o.steps, "optimizer steps (default: 300); 0, with --export: train nothing"));
  group(app.add_option("--epochs", o.epochs, "passes over the data, in place of --steps"));
  group(app.add_option("--tail", o.tail, "an epoch's incomplete last batch: pad (empty rows) or drop")
            ->capture_default_str());
  group(app.add_option("--workers", o.workers, "loader threads per rank; 0 loads on the computing thread")
            ->capture_default_str());
  group(app.add_option("--prefetch", o.prefetch, "batches held ready per rank")->capture_default_str());
  group(app.add_option("--seed", o.seed, "of weights, shuffling and augmentation (64 bits)")
            ->capture_default_str())
      ->check(seed_number);
  group(app.add_option("--eval-every", o.eval_every, "steps between evaluations; 0: only at the end")
            ->capture_default_str());
}

void add_optimizer(CLI::App& app, Options& o) {
  auto group = [](CLI::Option* option) { return option->group("Optimizer"); };
  group(app.add_option("--optimizer", o.optimizer, "adamw or sgd")->capture_default_str());
  group(app.add_option("--lr", o.lr, "peak learning rate (default: 1e-3 for adamw, 0.05 for sgd)"));
  group(app.add_option("--momentum", o.momentum, "sgd: momentum in [0, 1)")->capture_default_str());
  group(app.add_flag("--nesterov", o.nesterov, "sgd: Nesterov's momentum"));
  group(app.add_option("--betas", o.betas, "adamw: decay of the two moments (default: 0.9,0.95)")
            ->delimiter(',')
            ->expected(2));
  group(app.add_option("--weight-decay", o.weight_decay,
                       "not on norms and biases (default: 0.1 for adamw, 0 for sgd)"));
  group(app.add_option("--schedule", o.schedule, "constant, linear or cosine (to 0 at the last step)")
            ->capture_default_str());
  group(app.add_option("--warmup-steps", o.warmup_steps, "steps of linear warm-up")->capture_default_str());
  group(app.add_option("--clip", o.clip, "largest global gradient norm; 0: no clipping")
            ->capture_default_str());
}

void add_ddp(CLI::App& app, Options& o) {
  auto group = [](CLI::Option* option) { return option->group("Data parallelism"); };
  group(app.add_flag("!--no-ddp", o.ddp, "one rank without buckets: the plain baseline"));
  group(app.add_option("--accumulate", o.accumulate, "K: micro-batches per optimizer step")
            ->capture_default_str());
  group(app.add_flag("--sync-every-micro-batch", o.sync_every_micro_batch,
                     "reduce after every micro-batch, to see what no_sync saves"));
  group(app.add_option_function<std::string>(
               "--bucket-mb", [&o](const std::string& text) { take_bucket_mb(text, o); },
               "cap of a bucket, MiB; auto: what the link and a few trial steps before the training say")
            ->default_str(fmt::format("{}", o.bucket_mb)));
  group(app.add_option("--first-bucket-mb", o.first_bucket_mb, "cap of the first bucket, MiB")
            ->capture_default_str());
  group(app.add_option("--bucket-order", o.bucket_order,
                       "ready (as gradients become final), reverse or forward (of definition)")
            ->capture_default_str());
  group(app.add_flag("--gradient-as-bucket-view,!--no-gradient-as-bucket-view", o.gradient_as_bucket_view,
                     "gradients are slices of their buckets (default), or are copied in and out"));
  group(app.add_flag("--overlap,!--no-overlap", o.overlap, "reduce during backward (default), or after it"));
  group(app.add_option("--comm-hook", o.comm_hook,
                       "how fp32 gradients travel: allreduce (as they are), bf16, fp16, or powersgd:RANK "
                       "(matrices as products of two of that rank, with error feedback)")
            ->capture_default_str());
  group(app.add_option("--reduce-dtype", o.reduce_dtype,
                       "fp32: reduce gradients of 16 bits in fp32 (default: as they are)"));
  group(app.add_option("--zero", o.zero,
                       "1: each rank keeps the optimizer's state of its share alone (ZeRO-1); 0: of all")
            ->capture_default_str());
  group(
      app.add_flag("--no-comm", o.no_comm, "do not communicate: a baseline for measuring, replicas diverge"));
}

void add_measuring(CLI::App& app, Options& o) {
  auto group = [](CLI::Option* option) { return option->group("Measuring"); };
  group(app.add_option("--log-dir", o.log_dir,
                       "folder of the run's files (default: runs/<date-time-model-P>)"));
  group(app.add_option("--log-every", o.log_every,
                       "steps between lines where standard output is not a terminal")
            ->capture_default_str());
  group(app.add_option(
      "--window", o.window,
      "FIRST:LAST, the steps of the figures (default: 50:249, or the last 60% of a shorter run)"));
  group(app.add_option("--probe", o.probe,
                       "what a step times: off, step (phases) or bucket (phases and buckets)")
            ->capture_default_str());
  group(app.add_option("--probe-every", o.probe_every,
                       "where steps run as graphs of the GPU: time the inside of every N-th")
            ->capture_default_str());
  group(app.add_option("--explain-step", o.explain_step,
                       "print this step's story on each rank (needs --probe bucket)"));
  group(
      app.add_option("--inject", o.inject,
                     "a fault to order: slow=RANK:MS (RANK may be any), stall=loader:MS, link=RATE[+LATENCY] "
                     "(1gbit, 10MB, 10gbit+300us), nan=RANK@STEP or throw=RANK@STEP; may be given again"));
}

void add_machine(CLI::App& app, Options& o) {
  auto group = [](CLI::Option* option) { return option->group("Machine"); };
  group(app.add_option("--device", o.device, "auto, cpu or cuda")->capture_default_str());
  group(app.add_option(
               "--precision", o.precision,
               "fp32; on a GPU also tf32, or with fp32 master weights bf16, or fp16 and a dynamic loss scale")
            ->capture_default_str());
  group(
      app.add_option("--grad-dtype", o.grad_dtype,
                     "of gradients, and of what is reduced: fp32, bf16 or fp16; default: as --precision, and "
                     "fp32 with --accumulate above 1"));
  group(
      app.add_option(
             "--cuda-graph", o.cuda_graph,
             "a step as one graph of the GPU, replayed by one call: on, off (to look inside: a graph runs no "
             "host code), or auto: on")
          ->capture_default_str());
  group(
      app.add_option(
             "--algorithm-cache", o.algorithm_cache,
             "on a GPU: file of the products' algorithms, timed once: auto (in ~/.cache/tandem), off or PATH")
          ->capture_default_str());
  group(app.add_flag("--deterministic", o.deterministic, "same options, same bits (on the CPU always so)"));
  auto* ranks =
      group(app.add_option("--ranks", o.ranks, "start N ranks under mpirun, with the settings it needs"));
  group(app.add_option("--threads", o.threads, "N ranks as threads of one process"))->excludes(ranks);
  group(app.add_option("--compute-threads", o.compute_threads, "threads that one rank computes with")
            ->capture_default_str());
  group(app.add_option("--bind", o.bind,
                       "auto: share the cores among the ranks of a host; keep: as the launcher did")
            ->capture_default_str());
  group(app.set_config("--config", "", "read options from a file: name = value, one a line"));
  group(app.add_flag("--dry-run", o.dry_run, "print model, buckets, memory and data; train nothing"));
}

void one_of(const char* option, const std::string& value, const std::vector<std::string>& allowed) {
  for (const auto& a : allowed)
    if (value == a) return;
  throw UsageError("{} {}: choose {}", option, value.empty() ? "(nothing)" : value, fmt::join(allowed, ", "));
}

constexpr std::int64_t kLargest = 1'000'000'000'000;  // beyond any sensible count, far from overflow

void whole(const char* option, std::optional<std::int64_t> value, std::int64_t least,
           std::int64_t most = kLargest) {
  if (value && (*value < least || *value > most))
    throw UsageError("{} {}: give a whole number from {} to {}", option, *value, least, most);
}

void real(const char* option, double value, double least, bool least_allowed, double most,
          const char* unit = "") {
  const bool ok =
      std::isfinite(value) && value <= most && (value > least || (least_allowed && value == least));
  if (!ok)
    throw UsageError("{} {}: give a number {} {} and at most {}{}", option, value,
                     least_allowed ? "of at least" : "above", least, most, unit);
}

void check_numbers(const Options& o) {
  for (auto size : o.mlp_sizes) whole("--mlp-sizes", size, 1, 10'000'000);
  whole("--layers", o.layers, 1, 10'000);
  whole("--width", o.width, 1, 1'000'000);
  whole("--heads", o.heads, 1, 100'000);
  whole("--vocab", o.vocab, 2, 1 << 30);
  whole("--seq", o.seq, 1, 10'000'000);
  whole("--batch", o.batch, 1, 100'000'000);
  whole("--global-batch", o.global_batch, 1);
  whole("--steps", o.steps, o.export_to.empty() ? 1 : 0);
  whole("--epochs", o.epochs, 1, 1'000'000'000);
  whole("--workers", o.workers, 0, 1024);
  whole("--prefetch", o.prefetch, 1, 4096);
  whole("--eval-every", o.eval_every, 0);
  whole("--warmup-steps", o.warmup_steps, 0);
  whole("--accumulate", o.accumulate, 1, 1'000'000);
  whole("--zero", o.zero, 0, 1);
  whole("--log-every", o.log_every, 1);
  whole("--explain-step", o.explain_step, 0);
  whole("--probe-every", o.probe_every, StepTimer::kLeastEvery);
  whole("--ranks", o.ranks, 1, 4096);
  whole("--threads", o.threads, 1, 256);
  whole("--compute-threads", o.compute_threads, 1, 1024);
  if (o.lr) real("--lr", *o.lr, 0, true, 1e6);
  real("--momentum", o.momentum, 0, true, 0.999999);
  for (double beta : o.betas) real("--betas", beta, 0, true, 0.999999999);
  if (o.weight_decay) real("--weight-decay", *o.weight_decay, 0, true, 1e6);
  real("--clip", o.clip, 0, true, 1e12);
  real("--bucket-mb", o.bucket_mb, 0, false, 1e6, " MiB");
  real("--first-bucket-mb", o.first_bucket_mb, 0, false, 1e6, " MiB");
}

void check_choices(const Options& o) {
  one_of("--activation", o.activation, {"relu", "gelu"});
  one_of("--recompute", o.recompute, {"none", "gelu", "block"});
  one_of("--tail", o.tail, {"pad", "drop"});
  one_of("--optimizer", o.optimizer, {"adamw", "sgd"});
  one_of("--schedule", o.schedule, {"constant", "linear", "cosine"});
  one_of("--bucket-order", o.bucket_order, {"ready", "reverse", "forward"});
  one_of("--probe", o.probe, {"off", "step", "bucket"});
  one_of("--device", o.device, {"auto", "cpu", "cuda"});
  one_of("--cuda-graph", o.cuda_graph, {"auto", "on", "off"});
  one_of("--bind", o.bind, {"auto", "keep"});
  one_of("--precision", o.precision, {"fp32", "tf32", "bf16", "fp16"});
  if (o.threads && o.device == "cuda")
    throw UsageError("--threads and --device cuda: ranks on GPUs are processes; use --ranks or mpirun");
  if (o.threads && o.precision != "fp32")
    throw UsageError("--threads and --precision {}: ranks as threads compute on the CPU, in fp32",
                     o.precision);
  if (!o.grad_dtype.empty()) one_of("--grad-dtype", o.grad_dtype, {"fp32", "bf16", "fp16"});
  check_hook(o);
  if (!o.grad_dtype.empty() && o.grad_dtype != "fp32" && o.accumulate > 1)
    throw UsageError("--grad-dtype {} and --accumulate {}: micro-batches accumulate in fp32; leave one out",
                     o.grad_dtype, o.accumulate);
  if (!o.grad_dtype.empty() && o.grad_dtype != "fp32" && o.grad_dtype != o.precision)
    throw UsageError("--grad-dtype {}: with --precision {} gradients are fp32", o.grad_dtype, o.precision);
}

/// Options that contradict each other. `given` tells whether the user wrote an option.
template <class Given>
void check_together(const Options& o, Given given) {
  auto refuse = [&](const char* a, const char* b, const char* why) {
    if (given(a) && given(b)) throw UsageError("{} and {} contradict each other: {}", a, b, why);
  };
  refuse("--steps", "--epochs", "give one of them");
  refuse("--batch", "--global-batch", "b follows from B; give one of them");
  refuse("--no-ddp", "--ranks", "--no-ddp trains on one rank");
  refuse("--no-ddp", "--threads", "--no-ddp trains on one rank");
  refuse("--no-ddp", "--no-comm", "without DDP nothing is communicated");
  refuse("--no-ddp", "--bucket-mb", "without DDP there are no buckets");
  refuse("--no-ddp", "--sync-every-micro-batch", "without DDP nothing is reduced");
  refuse("--no-comm", "--export", "replicas diverge, and none is the model");
  if (o.auto_bucket_mb && o.no_comm)
    throw UsageError("--bucket-mb auto and --no-comm contradict each other: nothing is communicated");
  if (o.auto_bucket_mb && o.sync_every_micro_batch)
    throw UsageError(
        "--bucket-mb auto and --sync-every-micro-batch: the prediction knows one reduction a step; give a "
        "cap");
  refuse("--no-comm", "--sync-every-micro-batch", "nothing is communicated");
  for (const char* option : {"--comm-hook", "--reduce-dtype"}) {
    refuse("--no-ddp", option, "without DDP nothing is reduced");
    refuse("--no-comm", option, "nothing is communicated");
  }
  if (o.zero > 0) {
    refuse("--no-ddp", "--zero", "one rank has nothing to share");
    refuse("--no-comm", "--zero", "a rank would train its own share alone");
    refuse("--sync-every-micro-batch", "--zero",
           "after a micro-batch's reduce-scatter no rank has the whole sum to go on with");
  }
  const bool gpt = o.model.rfind("gpt", 0) == 0;
  for (const char* option : {"--layers", "--width", "--heads", "--vocab", "--seq", "--recompute"})
    if (!gpt && given(option))
      throw UsageError("{} belongs to the gpt models; mlp takes --mlp-sizes", option);
  for (const char* option : {"--mlp-sizes", "--activation"})
    if (gpt && given(option)) throw UsageError("{} belongs to --model mlp, not to {}", option, o.model);
  for (const char* option : {"--momentum", "--nesterov"})
    if (o.optimizer != "sgd" && given(option)) throw UsageError("{} belongs to --optimizer sgd", option);
  if (o.optimizer != "adamw" && given("--betas")) throw UsageError("--betas belongs to --optimizer adamw");
  if (o.nesterov && o.momentum == 0) throw UsageError("--nesterov needs --momentum above 0");
  if (o.explain_step && o.probe != "bucket") throw UsageError("--explain-step needs --probe bucket");
  if (given("--init") && o.init.empty()) throw UsageError("--init is empty: give a path");
  if (given("--export") && o.export_to.empty()) throw UsageError("--export is empty: give a path");
  if (given("--val-data") && o.val_data.empty()) throw UsageError("--val-data is empty: give kind:path");
  if (given("--data") && o.data.empty()) throw UsageError("--data is empty: give kind:path");
}

void fill_defaults(Options& o) {
  if (o.mlp_sizes.empty()) o.mlp_sizes = {784, 1024, 1024, 10};
  if (o.betas.empty()) o.betas = {0.9, 0.95};
  if (!o.lr) o.lr = o.optimizer == "adamw" ? 1e-3 : 0.05;
  if (!o.weight_decay) o.weight_decay = o.optimizer == "adamw" ? 0.1 : 0.0;
  if (!o.steps && !o.epochs) o.steps = 300;
}

std::map<std::string, std::string> effective_options(const CLI::App& app, const Options& o) {
  std::map<std::string, std::string> values;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (name == "--help" || name == "--version" || name == "--config") continue;
    const std::string standard = option->get_default_str().empty() ? "default" : option->get_default_str();
    values[name] = option->count() > 0 ? fmt::format("{}", fmt::join(option->results(), ",")) : standard;
  }
  values["--lr"] = fmt::format("{}", *o.lr);
  values["--weight-decay"] = fmt::format("{}", *o.weight_decay);
  return values;
}

}  // namespace

std::vector<std::string> Options::arguments_without(const std::set<std::string>& names) const {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string name = arguments[i].substr(0, arguments[i].find('='));
    if (!names.contains(name))
      kept.push_back(arguments[i]);
    else if (name == arguments[i])
      ++i;  // its value is a word of its own
  }
  return kept;
}

CommandLine parse(int argc, const char* const* argv) {
  CommandLine line;
  Options& o = line.options;
  CLI::App app{
      "Trains a small transformer or MLP data-parallel: a replica on every rank, gradients in buckets, their "
      "all-reduce\n"
      "overlapped with backward, every step timed. Start it as  mpirun -np N train …  or  train --ranks N …",
      "train"};
  app.set_version_flag("--version", std::string(version::kDescription));
  app.get_formatter()->column_width(34);
  add_model(app, o);
  add_data(app, o);
  add_optimizer(app, o);
  add_ddp(app, o);
  add_measuring(app, o);
  add_machine(app, o);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {o, app.help()};
  } catch (const CLI::CallForVersion&) {
    return {o, app.version()};
  } catch (const CLI::ParseError& error) {
    throw UsageError("{}; see train --help", error.what());
  }
  check_numbers(o);
  check_choices(o);
  check_together(o, [&](const char* name) { return app.count(name) > 0; });
  fill_defaults(o);
  o.arguments.assign(argv + 1, argv + argc);
  o.effective = effective_options(app, o);
  return line;
}

}  // namespace tandem::train

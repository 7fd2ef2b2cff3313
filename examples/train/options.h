#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tandem::train {

/// The command line of `train`, parsed and checked as far as that goes without knowing the data or the number
/// of ranks.
struct Options {
  // Model
  std::string model = "gpt-nano";
  std::vector<std::int64_t> mlp_sizes;
  std::string activation = "relu";
  std::optional<std::int64_t> layers, width, heads, vocab, seq;
  std::string recompute = "none";
  std::string init, export_to;  ///< weights in and out; empty: drawn from the seed, not written

  // Data
  std::string data;  ///< kind:path; empty: the pinned text for gpt, synthetic for mlp
  std::string val_data;
  std::int64_t batch = 8;
  std::optional<std::int64_t> global_batch;
  std::optional<std::int64_t> steps, epochs;
  std::string tail = "pad";
  std::int64_t workers = 1, prefetch = 4;
  std::uint64_t seed = 0;

  // Optimizer
  std::string optimizer = "adamw";
  std::optional<double> lr;
  double momentum = 0;
  bool nesterov = false;
  std::vector<double> betas;
  std::optional<double> weight_decay;
  std::string schedule = "constant";
  std::int64_t warmup_steps = 0;
  double clip = 0;  ///< 0: no clipping

  // Data parallelism
  bool ddp = true;
  std::int64_t accumulate = 1;
  bool sync_every_micro_batch = false;
  double bucket_mb = 25, first_bucket_mb = 1;
  bool auto_bucket_mb = false;  ///< bucket_mb is the standard one until trials have chosen
  std::string bucket_order = "ready";
  bool gradient_as_bucket_view = true;
  bool overlap = true;
  bool no_comm = false;
  std::string comm_hook = "allreduce", reduce_dtype;
  std::int64_t zero = 0;

  // Measuring
  std::string log_dir;
  std::int64_t log_every = 10, eval_every = 0;
  std::string window, probe = "bucket";
  std::int64_t probe_every = 10;
  std::optional<std::int64_t> explain_step;
  std::vector<std::string> inject;

  // Machine
  std::string device = "auto", precision = "fp32", grad_dtype, bind = "auto";
  std::string cuda_graph = "auto", algorithm_cache = "auto";
  bool deterministic = false;
  std::optional<std::int64_t> ranks, threads;
  std::int64_t compute_threads = 1;

  bool dry_run = false;

  std::vector<std::string> arguments;  ///< the command line, without the program's name
  /// Every option under its name with its value in force, for run.json.
  std::map<std::string, std::string> effective;

  /// `arguments` without the options of these names (which take a value) and their values.
  std::vector<std::string> arguments_without(const std::set<std::string>& names) const;
};

/// What parse() found: options to run with, or a text to print (help, version) and nothing else to do.
struct CommandLine {
  Options options;
  std::string message;  ///< not empty: print it and exit 0
};

/// Throws UsageError with one line that names the option and says what to do.
CommandLine parse(int argc, const char* const* argv);

}  // namespace tandem::train

#include "bench/fairness.h"

#include <map>
#include <set>

#include "core/base/error.h"

namespace tandem::bench {
namespace {

using Flat = std::map<std::string, std::string>;

/// Options that say what is written down, how long a run is, or where it starts, not what a step computes;
/// and those that Run holds as fields and unfair_differences() judges.
const std::set<std::string> kOfNoConcern = {
    "log_dir", "log_every", "explain_step", "dry_run", "window",  "steps",       "epochs",    "seed",
    "lr",      "schedule",  "warmup_steps", "inject",  "ranks",   "threads",     "batch",     "global_batch",
    "no_ddp",  "ddp",       "val_data",     "version", "no_comm", "communicate", "eval_every"};

const std::set<std::string> kAboutBuckets = {"bucket_mb",    "first_bucket_mb",
                                             "bucket_order", "gradient_as_bucket_view",
                                             "overlap",      "sync_every_micro_batch"};

/// Facts of the environment that change speed. Others change with every launch, or with the number of ranks.
bool changes_speed(const std::string& fact) {
  static const std::set<std::string> facts = {
      "cpu_model", "cores", "cgroup_cpus", "governor",   "os",       "kernel",    "compiler", "build_type",
      "arch",      "mpi",   "gpu.gpus",    "gpu.driver", "gpu.cuda", "gpu.cudnn", "gpu.nccl"};
  return facts.contains(fact);
}

/// Variables that steer a library; those that a launcher sets for each rank are of no concern.
bool steers_library(const std::string& fact) {
  for (const char* prefix : {"variables.NCCL_", "variables.CUDA_", "variables.UCX_"})
    if (fact.starts_with(prefix)) return true;
  return false;
}

bool is_unknown(const Flat& flat, const std::string& key) {
  const auto found = flat.find(key);
  return found == flat.end() || found->second == "null";
}

std::string value_in(const Flat& flat, const std::string& key) {
  const auto found = flat.find(key);
  return found == flat.end() ? "(not given)" : found->second;
}

template <class Skip>
void add_differences(const Flat& a, const Flat& b, Skip skip, std::vector<std::string>& differences) {
  std::set<std::string> keys;
  for (const auto& [key, value] : a) keys.insert(key);
  for (const auto& [key, value] : b) keys.insert(key);
  for (const auto& key : keys)
    if (!skip(key) && value_in(a, key) != value_in(b, key))
      differences.push_back(fmt::format("{} {} / {}", key, value_in(a, key), value_in(b, key)));
}

}  // namespace

std::vector<std::string> unfair_differences(const Run& a, const Run& b, Comparison comparison) {
  std::vector<std::string> differences;
  const auto compare = [&](const char* what, const auto& x, const auto& y) {
    if (x != y) differences.push_back(fmt::format("{} {} / {}", what, x, y));
  };
  compare("model", a.model, b.model);
  compare("parameters", a.parameters, b.parameters);
  compare("dtype", a.dtype, b.dtype);
  compare("optimizer", a.optimizer, b.optimizer);
  compare("accumulation", a.accumulate, b.accumulate);
  compare("compute threads", a.compute_threads, b.compute_threads);
  if (comparison == Comparison::launches) {
    compare("batch", a.batch, b.batch);
    compare("ranks", a.ranks, b.ranks);
    compare("injected", fmt::format("{}", fmt::join(a.injected, " ")),
            fmt::format("{}", fmt::join(b.injected, " ")));
  }
  const std::set<std::string> judged = {"model",     "precision",  "dtype",
                                        "optimizer", "accumulate", "compute_threads"};
  add_differences(
      a.config, b.config,
      [&](const std::string& key) {
        return kOfNoConcern.contains(key) || judged.contains(key) ||
               (comparison == Comparison::plain && kAboutBuckets.contains(key));
      },
      differences);
  add_differences(
      a.environment, b.environment,
      [&](const std::string& fact) {
        const bool known = !is_unknown(a.environment, fact) && !is_unknown(b.environment, fact);
        return !(steers_library(fact) || (changes_speed(fact) && known));
      },
      differences);
  return differences;
}

void require_comparable(const Run& a, const Run& b, Comparison comparison) {
  const auto differences = unfair_differences(a, b, comparison);
  if (!differences.empty())
    throw DataError("{} and {} do not compare: they differ in {}", a.directory, b.directory,
                    fmt::join(differences, "; "));
}

}  // namespace tandem::bench

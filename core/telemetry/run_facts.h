#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/environment.h"
#include "core/telemetry/gpu_monitor.h"

namespace tandem {

/// One bucket as it was really made.
struct BucketFacts {
  std::int64_t bytes = 0;               ///< padding included
  std::int64_t wire_bytes = 0;          ///< on the wire, counted as those of an all-reduce
  std::vector<std::string> parameters;  ///< in the order in which they lie in it
};

/// A collective of a step beside the buckets' reductions: ZeRO-1's.
struct CollectiveFacts {
  std::int64_t wire_bytes = 0;
  std::string what;
};

/// Where one rank runs.
struct RankPlace {
  std::string host;
  std::string allowed_cores, cores;  ///< core_list(): before binding, and now
};

/// A GPU, and what drives it.
struct GpuFacts {
  std::string name;
  GpuIdentity identity;
  std::string cuda, nccl;                        ///< versions; empty where there is none
  std::map<std::string, std::string> libraries;  ///< ops::library_versions()
};

/// What run.json says beside the environment.
struct RunFacts {
  std::string model = {}, dtype = {}, optimizer = {}, data = {};
  std::int64_t parameters = 0, parameter_bytes = 0;
  std::int64_t batch = 0, accumulate = 1, global_batch = 0;  ///< b, K, B
  int ranks = 1;
  std::int64_t steps = 0;  ///< planned
  std::uint64_t seed = 0;
  bool ddp = true, communicate = true;
  int compute_threads = 1;
  std::optional<double> bucket_mb = {}, first_bucket_mb = {};  ///< asked for; empty without DDP
  std::string cap_choice = {};                                 ///< --bucket-mb auto: to_json(CapChoice)
  std::vector<BucketFacts> buckets = {};                       ///< made; in launch order
  std::vector<CollectiveFacts> others = {};   ///< in the steps' logs their ids follow the buckets'
  std::string comm_hook = "allreduce";        ///< what is done to a bucket
  int zero = 0;                               ///< 1: the optimizer's state is sharded
  std::vector<std::string> injected = {};     ///< Faults::describe()
  std::optional<double> probe_overhead = {};  ///< a share of the step

  double model_flop = 0;                     ///< of a token, or of a sample where there are none
  std::optional<double> peak_flops = {};     ///< of rank 0's device, by its maker
  std::optional<double> product_flops = {};  ///< the same as measured by a large matrix product

  std::vector<std::string> arguments = {};                ///< the command line
  std::map<std::string, std::string> config = {};         ///< every option in force, defaults too
  std::string version = {}, git = {};                     ///< tandem::version::kNumber, kGit
  std::string compiler = {}, build_type = {}, arch = {};  ///< tandem::version::kCompiler, kBuildType, kArch
  std::string backend = {}, mpi_version = {};             ///< Communicator::backend(), World::mpi_version()
  std::optional<GpuFacts> gpu = {};                       ///< rank 0's; empty on the CPU
  std::vector<RankPlace> places = {};                     ///< by rank
  std::string started = {};                               ///< local date and time, ISO 8601
};

/// Bytes on the wire of all collectives that a step times, by their id in its log.
std::vector<std::int64_t> wire_bytes_by_id(const RunFacts& facts);

/// The content of run.json; null for what was not measured or does not apply, as all of GPUs on a CPU.
std::string run_json(const RunFacts& facts, const Environment& environment);

}  // namespace tandem

#include "examples/train/intro.h"

#include <algorithm>
#include <ctime>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/base/text.h"
#include "core/ops/tuning.h"
#include "core/telemetry/faults.h"
#include "core/telemetry/gather.h"
#include "core/telemetry/peak_rate.h"
#include "core/telemetry/run_report.h"
#include "examples/train/device.h"
#include "examples/train/sharding.h"
#include "tandem_version.h"

namespace tandem::train {

namespace {

std::string now_iso() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &local)};
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::vector<RankPlace> gather_places(Context& context, World& world) {
  const Binding& binding = world.binding();
  const nlohmann::json mine = {host_name(), core_list(binding.allowed), core_list(binding.cores)};
  std::vector<RankPlace> places;
  for (const std::string& text : gather_texts(mine.dump(), world.comm().control(), context.control())) {
    const auto place = nlohmann::json::parse(text);
    places.push_back({place[0], place[1], place[2]});
  }
  return places;
}

std::vector<BucketFacts> bucket_facts(const BucketPlan& plan, CommHook& hook) {
  const std::vector<std::int64_t> sent = wire_bytes(hook, plan);
  std::vector<BucketFacts> facts;
  for (const BucketSpec& bucket : plan.buckets) {
    BucketFacts& made = facts.emplace_back();
    made.bytes = bucket.bytes(plan.grad_dtype);
    made.wire_bytes = sent[facts.size() - 1];
    for (const Parameter* parameter : bucket.parameters) made.parameters.push_back(parameter->name);
  }
  return facts;
}

/// ZeRO-1's collectives, in the order of the ids that ParameterGather and ShardedNorm give them.
std::vector<CollectiveFacts> zero_facts(const BucketPlan& plan, const Setup& setup) {
  std::vector<CollectiveFacts> facts;
  if (setup.options.zero == 0) return facts;
  for (std::size_t i = 0; i < plan.buckets.size(); ++i)
    facts.push_back({plan.buckets[i].bytes(plan.layout.dtype()) / 2,
                     fmt::format("gathers the new values of bucket {}", i)});
  if (shards_norm(setup.options)) {
    const NormBytes norm = sharded_norm_bytes(plan, setup.sampler.ranks);
    facts.push_back({norm.heads, "for the gradients' norm: the heads of shares"});
    facts.push_back({norm.sums, "for the gradients' norm: the sums of chunks"});
  }
  return facts;
}

std::string memory_lines(const MemoryTable& m) {
  const auto bytes = [](std::int64_t n) { return human_bytes(static_cast<double>(n)); };
  std::string text = fmt::format(
      "memory   {} a rank: parameters {}, gradients {}, optimizer {},\n"
      "         activations {}, scratch {}, batches {}",
      bytes(m.total()), bytes(m.parameters), bytes(m.gradients), bytes(m.optimizer), bytes(m.activations),
      bytes(m.scratch), bytes(m.batches));
  if (m.bucket_copies > 0) text += fmt::format(", bucket copies {}", bytes(m.bucket_copies));
  if (m.communication > 0) text += fmt::format(", communication {}", bytes(m.communication));
  return text + "\n";
}

std::string data_lines(const Setup& setup) {
  const DistributedSampler& sampler = setup.sampler;
  std::string text = fmt::format("data     {}\n", setup.data.train->describe());
  if (const auto tail = sampler.tail_samples(); tail > 0)
    text +=
        fmt::format("         {} steps an epoch; its last batch {} {} samples\n", sampler.steps_per_epoch(),
                    sampler.tail == Tail::drop ? "is dropped:" : "is filled up with", tail);
  else
    text += fmt::format("         {} steps an epoch\n", sampler.steps_per_epoch());
  if (setup.data.validation)
    text += fmt::format("         validation: {}\n", setup.data.validation->describe());
  return text;
}

std::string bucket_line(const Setup& setup, const RunFacts& facts) {
  const Options& o = setup.options;
  if (!o.ddp) return "buckets  none (--no-ddp)\n";
  double largest = 0;
  for (const BucketFacts& bucket : facts.buckets)
    largest = std::max(largest, static_cast<double>(bucket.bytes));
  std::string ways;
  if (o.comm_hook != "allreduce") ways += ", sent by " + o.comm_hook;
  if (!o.reduce_dtype.empty()) ways += ", summed in " + o.reduce_dtype;
  if (o.zero > 0) ways += ", optimizer sharded (ZeRO-1)";
  return fmt::format("buckets  {} in {} order, largest {}; {}, {}{}{}\n", facts.buckets.size(),
                     o.bucket_order, human_bytes(largest),
                     o.overlap ? "reduced during backward" : "reduced after backward",
                     o.gradient_as_bucket_view ? "gradients are views" : "gradients are copied", ways,
                     o.no_comm ? "; NOT COMMUNICATED: replicas diverge (--no-comm)" : "");
}

}  // namespace

RunFacts gather_facts(Context& context, World& world, const Setup& setup, const Blueprint& blueprint) {
  const BucketPlan& plan = blueprint.plan;
  const Options& o = setup.options;
  RunFacts facts;
  facts.model = o.model;
  facts.dtype = o.precision;
  facts.optimizer = o.optimizer;
  facts.data = setup.data.train->describe();
  for (const auto& entry : plan.layout.entries()) facts.parameters += entry.parameter->numel();
  facts.parameter_bytes = facts.parameters * static_cast<std::int64_t>(size_of(gradient_dtype(o)));
  facts.batch = setup.batch();
  facts.accumulate = o.accumulate;
  facts.global_batch = setup.sampler.global_batch();
  facts.ranks = world.size();
  facts.steps = setup.steps;
  facts.seed = o.seed;
  facts.ddp = o.ddp;
  facts.communicate = o.ddp && !o.no_comm;
  facts.compute_threads = static_cast<int>(o.compute_threads);
  if (o.ddp) {
    facts.bucket_mb = o.bucket_mb;
    facts.first_bucket_mb = o.first_bucket_mb;
    facts.comm_hook = o.reduce_dtype.empty() ? o.comm_hook : "allreduce in " + o.reduce_dtype;
    facts.zero = static_cast<int>(o.zero);
    facts.buckets = bucket_facts(plan, *blueprint.hook);
    facts.others = zero_facts(plan, setup);
  }
  facts.injected = Faults(o.inject, world.size()).describe();
  facts.arguments = o.arguments;
  facts.config = o.effective;
  facts.version = version::kNumber;
  facts.git = version::kGit;
  facts.compiler = version::kCompiler;
  facts.build_type = version::kBuildType;
  facts.arch = version::kArch;
  facts.model_flop = model_flop(setup.config);
  if (context.device().kind == DeviceKind::cuda) {
    const auto monitor = GpuMonitor::open(context.bus_id());
    facts.gpu = GpuFacts{.name = context.device_name(),
                         .identity = monitor ? monitor->identify() : GpuIdentity(),
                         .cuda = context.runtime(),
                         .nccl = world.comm().version(),
                         .libraries = ops::library_versions(context)};
    facts.peak_flops = peak_flops(facts.gpu->name, o.precision);
  }
  facts.backend = world.comm().backend();
  facts.mpi_version = world.mpi_version();
  facts.places = gather_places(context, world);
  facts.started = now_iso();
  return facts;
}

std::string introduce(const Setup& setup, const RunFacts& facts, const MemoryTable& memory, bool buckets) {
  const Options& o = setup.options;
  std::string text = fmt::format("model    {}: {} parameters, {} of gradients\n", facts.model,
                                 human_count(static_cast<double>(facts.parameters)),
                                 human_bytes(static_cast<double>(facts.parameter_bytes)));
  if (setup.init) text += fmt::format("weights  {}\n", setup.init->describe());
  text += fmt::format("batch    b {} x K {} x P {} = B {}", facts.batch, facts.accumulate, facts.ranks,
                      facts.global_batch);
  if (setup.sequence() > 0)
    text += fmt::format(", T {}: {} tokens a step", setup.sequence(), facts.global_batch * setup.sequence());
  text += fmt::format("; {} steps, {} lr {} {}\n", setup.steps, o.optimizer, *o.lr, o.schedule);
  text += data_lines(setup) + bucket_line(setup, facts) + memory_lines(memory);
  for (const std::string& fault : facts.injected)
    text += fmt::format("INJECTED {}: figures of this run are no measurement\n", fault);
  if (buckets && o.ddp) text += "\n" + bucket_table(facts);
  return text;
}

}  // namespace tandem::train

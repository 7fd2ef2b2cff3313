#include <charconv>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "bench/collectives.h"
#include "bench/commands.h"
#include "bench/measured_run.h"
#include "core/comm/agreed.h"
#include "core/comm/launch.h"
#include "core/device/cuda_devices.h"

namespace tandem::bench {
namespace {

struct CollectivesArguments {
  std::string least = "1K", most = "512M";
  std::vector<std::string> ops{"all-reduce", "reduce-scatter", "all-gather", "broadcast", "send-recv"};
  int calls = 20, warmup = 5;
  std::string json, device = "auto";
  int ranks = 0, threads = 0;
};

/// A number of bytes: "4096", "64K", "512M", "1G" (binary). Throws UsageError.
std::int64_t parse_bytes(const char* option, const std::string& text) {
  std::int64_t number = 0, unit = 1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (stop + 1 == end) {
    const auto power = std::string_view("KMG").find(*stop);
    if (power != std::string_view::npos) unit = std::int64_t{1} << (10 * (power + 1));
  }
  const bool whole = stop == end || unit > 1;
  if (error != std::errc{} || !whole || number < 1 || number > (std::int64_t{1} << 40) / unit)
    throw UsageError("{} {}: give a number of bytes, as in 4096, 64K, 512M or 1G", option, text);
  return number * unit;
}

CollectivesRequest request_of(const CollectivesArguments& arguments, int ranks) {
  CollectivesRequest request{.ops = {},
                             .least_bytes = parse_bytes("--min", arguments.least),
                             .most_bytes = parse_bytes("--max", arguments.most),
                             .warmup = arguments.warmup,
                             .calls = arguments.calls};
  for (const auto& name : arguments.ops) request.ops.push_back(parse_collective(name));
  check(request, ranks);
  return request;
}

void run_rank(Context& context, World& world, const CollectivesArguments& arguments) {
  const auto request = agreed(world, context, [&] { return request_of(arguments, world.size()); });
  const CollectivesReport report = measure_collectives(context, world, request);
  if (world.rank() == 0) {
    fmt::print("{}", to_text(report));
    if (!arguments.json.empty()) write_file(arguments.json, to_json(report));
  }
  if (report.wrong() > 0) throw CommError("{} elements of the results are wrong", report.wrong());
}

Context choose_context(const std::string& device, const Place& place) {
  if (device == "cpu") return Context::cpu();
  const CudaDevices gpus = find_cuda_devices();
  if (gpus.count >= place.local_size) return Context::cuda(place.local_rank);
  if (device == "auto" && gpus.count == 0) return Context::cpu();
  throw UsageError("{} ranks on a host with {} GPUs: start fewer, or give --device cpu", place.local_size,
                   gpus.count);
}

/// One rank of several processes, as the launcher made them.
void run_process(const CollectivesArguments& arguments) {
  Context context = choose_context(arguments.device, launched_place());
  auto world = World::join(context);
  try {
    run_rank(context, *world, arguments);
  } catch (const AgreedError&) {  // all ranks end with it
    throw;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tandem: rank {}: {}\n", world->rank(), error.what());
    world->comm().abort(1);
    throw;
  }
}

/// The command line that says the same, without the number of ranks.
std::vector<std::string> words_of(const CollectivesArguments& arguments) {
  std::vector<std::string> words = {"collectives",
                                    "--min=" + arguments.least,
                                    "--max=" + arguments.most,
                                    fmt::format("--ops={}", fmt::join(arguments.ops, ",")),
                                    fmt::format("--iters={}", arguments.calls),
                                    fmt::format("--warmup={}", arguments.warmup),
                                    "--device=" + arguments.device};
  if (!arguments.json.empty()) words.push_back("--json=" + arguments.json);
  return words;
}

void run_collectives(const CollectivesArguments& arguments) {
  if (arguments.ranks < 0 || arguments.ranks > 4096 || arguments.threads < 0 || arguments.threads > 256)
    throw UsageError("--np takes 1 to 4096 ranks, --threads 1 to 256");
  const std::string& device = arguments.device;
  if (device != "auto" && device != "cpu" && device != "cuda")
    throw UsageError("--device {}: choose auto, cpu or cuda", device);
  if (arguments.threads > 0 && device == "cuda")
    throw UsageError("--threads and --device cuda: ranks on GPUs are processes; use --np or mpirun");
  if ((arguments.ranks > 0 || arguments.threads > 0) && launched_ranks() > 0)
    throw UsageError("--np and --threads start ranks themselves: leave them out under mpirun");
  if (arguments.threads > 0)
    return run_threads(arguments.threads, [&](World& world) {
      Context context = Context::cpu();
      run_rank(context, world, arguments);
    });
  if (arguments.ranks > 0) {
    request_of(arguments, arguments.ranks);  // what is wrong is said before anything starts
    relaunch_under_mpirun(arguments.ranks, words_of(arguments));
  }
  run_process(arguments);
}

}  // namespace

Subcommand add_collectives(CLI::App& app) {
  auto arguments = std::make_shared<CollectivesArguments>();
  auto* command = app.add_subcommand(
      "collectives",
      "Times and checks the communicator's collectives over message sizes, and fits t = alpha + beta n.\n"
      "  tandem collectives --np 2        or  mpirun -np 2 tandem collectives");
  command->add_option("--min", arguments->least, "smallest message, bytes; K, M, G are binary")
      ->capture_default_str();
  command->add_option("--max", arguments->most, "largest message; sizes double from the smallest")
      ->capture_default_str();
  command->add_option("--ops", arguments->ops, "kinds of collectives")->delimiter(',')->capture_default_str();
  command->add_option("--iters", arguments->calls, "timed calls of each size")->capture_default_str();
  command->add_option("--warmup", arguments->warmup, "calls before them")->capture_default_str();
  command->add_option("--json", arguments->json, "file to write the figures and fits to");
  command->add_option("--device", arguments->device, "auto, cpu or cuda")->capture_default_str();
  auto* ranks = command->add_option("--np", arguments->ranks, "start that many ranks under mpirun");
  command->add_option("--threads", arguments->threads, "that many ranks as threads of one process")
      ->excludes(ranks);
  return {command, [arguments](const TrainOptions& options) {
            if (!options.words().empty()) throw UsageError("tandem collectives takes no train options");
            run_collectives(*arguments);
          }};
}

}  // namespace tandem::bench

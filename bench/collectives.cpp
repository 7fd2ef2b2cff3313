#include "bench/collectives.h"

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "bench/collectives_check.h"
#include "core/base/error.h"
#include "core/comm/comm_scope.h"
#include "core/device/graph.h"
#include "core/telemetry/statistics.h"
#include "core/tensor/arena.h"

namespace tandem::bench {

namespace {

constexpr std::array<std::string_view, 5> kNames = {"all-reduce", "reduce-scatter", "all-gather", "broadcast",
                                                    "send-recv"};
constexpr std::int64_t kElement = sizeof(float);
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

bool has_blocks(Collective op) {
  return op == Collective::reduce_scatter || op == Collective::all_gather;
}

/// What a rank's link carries, as a share of the buffer.
double bus_factor(Collective op, int ranks) {
  const double p = ranks;
  if (op == Collective::all_reduce) return 2 * (p - 1) / p;
  return has_blocks(op) ? (p - 1) / p : 1;
}

CollectiveFigures figures_of(const CollectiveTimes& times, Collective op, double bytes, int ranks) {
  const double algbw = bytes / times.mean_us * 1e-3;
  return {.mean_us = times.mean_us,
          .p50_us = quantile(times.calls_us, 0.5),
          .p99_us = quantile(times.calls_us, 0.99),
          .algbw_gb_s = algbw,
          .busbw_gb_s = algbw * bus_factor(op, ranks)};
}

/// One call as a graph that the compute stream launches.
Graph captured(Context& context, CheckedCollective& collective, Event& before, Event& after) {
  return context.capture([&] {
    context.compute().record(before);
    context.comm().wait(before);
    collective.call(context.comm());
    context.comm().record(after);
    context.compute().wait(after);
  });
}

class Measurement {
 public:
  Measurement(Context& context, World& world, const CollectivesRequest& request)
      : context_(context),
        comm_(world.comm()),
        request_(request),
        memory_(context, request.most_bytes + Arena::kAlignment),
        buffer_(memory_.allocate(DType::f32, {request.most_bytes / kElement})),
        before_(context.make_event()),
        after_(context.make_event()),
        scope_(comm_, context.comm()) {}

  CollectiveRow row(Collective op, std::int64_t bytes) {
    const int ranks = comm_.size();
    std::int64_t elements = bytes / kElement;
    if (has_blocks(op)) elements -= elements % ranks;
    CheckedCollective collective(context_, comm_, op, buffer_.slice(0, elements));
    CollectiveRow row{.op = op,
                      .bytes = elements * kElement,
                      .count = has_blocks(op) ? elements / ranks : elements,
                      .figures = {},
                      .in_graph = {},
                      .wrong = wrong(collective)};
    const auto figures = [&](const CollectiveTimes& times) {
      return figures_of(times, op, static_cast<double>(row.bytes), ranks);
    };
    row.figures = figures(time_calls(
        context_, comm_, context_.comm(), [&] { collective.call(context_.comm()); }, request_.warmup,
        request_.calls));
    if (context_.device().kind == DeviceKind::cuda) row.in_graph = figures(time_in_graph(collective));
    return row;
  }

 private:
  /// One call on fresh values, checked on every rank.
  std::int64_t wrong(CheckedCollective& collective) {
    collective.fill(++seed_);
    collective.call(context_.comm());
    context_.comm().synchronize();
    std::int64_t wrong = collective.count_wrong(seed_);
    comm_.control().all_reduce(Tensor::of(&wrong, {1}), ReduceOp::sum, context_.control());
    context_.control().synchronize();
    return wrong;
  }

  CollectiveTimes time_in_graph(CheckedCollective& collective) {
    Graph graph = captured(context_, collective, before_, after_);
    return time_calls(
        context_, comm_, context_.compute(), [&] { graph.launch(context_.compute()); }, request_.warmup,
        request_.calls);
  }

  Context& context_;
  Communicator& comm_;
  const CollectivesRequest& request_;
  Arena memory_;
  Tensor buffer_;
  Event before_, after_;
  std::uint64_t seed_ = 0;
  CommScope scope_;
};

}  // namespace

std::string_view name_of(Collective op) {
  return kNames.at(static_cast<std::size_t>(op));
}

Collective parse_collective(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end())
    throw UsageError("--ops {}: no such collective; there are {}", name, fmt::join(kNames, ", "));
  return static_cast<Collective>(found - kNames.begin());
}

void check(const CollectivesRequest& request, int ranks) {
  if (ranks < 2)
    throw UsageError("one rank has nobody to talk to: give --np 2 or --threads 2, or start it under mpirun");
  const auto size = [&](const char* option, std::int64_t bytes) {
    if (bytes < kElement * ranks || bytes > kMostBytes)
      throw UsageError("{} {}: give a number of bytes from {} (an element for each rank) to {}", option,
                       bytes, kElement * ranks, kMostBytes);
  };
  size("--min", request.least_bytes);
  size("--max", request.most_bytes);
  if (request.least_bytes > request.most_bytes)
    throw UsageError("--min {} is above --max {}: exchange them", request.least_bytes, request.most_bytes);
  if (request.calls < 1 || request.calls > 1'000'000)
    throw UsageError("--iters {}: give a number of calls from 1 to 1000000", request.calls);
  if (request.warmup < 0 || request.warmup > 1'000'000)
    throw UsageError("--warmup {}: give a number of calls from 0 to 1000000", request.warmup);
  if (request.ops.empty()) throw UsageError("--ops is empty: give one of {}", fmt::join(kNames, ", "));
}

std::optional<LinkModel> CollectivesReport::link(Collective op) const {
  std::vector<LinkSample> samples;
  for (const CollectiveRow& row : rows)
    if (row.op == op) samples.push_back({static_cast<double>(row.bytes), row.figures.p50_us});
  if (samples.size() < 2) return {};
  return fit_link(samples);
}

std::int64_t CollectivesReport::wrong() const {
  std::int64_t wrong = 0;
  for (const CollectiveRow& row : rows) wrong += row.wrong;
  return wrong;
}

CollectivesReport measure_collectives(Context& context, World& world, const CollectivesRequest& request) {
  check(request, world.size());
  Measurement measurement(context, world, request);
  CollectivesReport report{.ranks = world.size(),
                           .backend = world.comm().backend(),
                           .device = context.device().kind == DeviceKind::cpu ? "cpu" : "cuda",
                           .warmup = request.warmup,
                           .calls = request.calls,
                           .rows = {}};
  for (const Collective op : request.ops)
    for (std::int64_t bytes = request.least_bytes; bytes <= request.most_bytes; bytes *= 2)
      report.rows.push_back(measurement.row(op, bytes));
  return report;
}

}  // namespace tandem::bench

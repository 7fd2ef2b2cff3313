#include "core/telemetry/collective_timer.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/comm/comm_scope.h"
#include "core/telemetry/statistics.h"
#include "core/tensor/arena.h"

namespace tandem {

namespace {

void maximum_over_ranks(std::vector<double>& values, Context& context, Communicator& comm) {
  comm.control().all_reduce(Tensor::of(values.data(), {std::ssize(values)}), ReduceOp::max,
                            context.control());
  context.control().synchronize();
}

void start_together(Context& context, Communicator& comm) {
  std::vector<double> nothing{0};
  maximum_over_ranks(nothing, context, comm);
}

}  // namespace

CollectiveTimes time_calls(Context& context, Communicator& comm, Stream& stream,
                           const std::function<void()>& call, int warmup, int calls) {
  require(warmup >= 0 && calls >= 1, "{} calls after {}", calls, warmup);
  std::vector<TimeMark> marks;
  for (int i = 0; i <= calls; ++i) marks.push_back(context.make_time_mark());
  for (int i = 0; i < warmup; ++i) call();
  stream.synchronize();
  start_together(context, comm);

  stream.mark(marks[0]);
  for (int i = 1; i <= calls; ++i) {
    call();
    stream.mark(marks[static_cast<std::size_t>(i)]);
  }
  stream.synchronize();

  std::vector<double> us(marks.size());  // each call's, and the mean
  for (std::size_t i = 1; i < marks.size(); ++i) us[i - 1] = marks[i].us_since(marks[i - 1]);
  us.back() = marks.back().us_since(marks.front()) / calls;
  maximum_over_ranks(us, context, comm);
  CollectiveTimes times{.mean_us = us.back(), .calls_us = {}};
  times.calls_us.assign(us.begin(), us.end() - 1);
  return times;
}

LinkModel measure_link(Context& context, Communicator& comm, DType dtype, double most_bytes) {
  constexpr double kLeast = 1024, kFactor = 4;
  constexpr int kWarmup = 1;
  if (comm.size() == 1) return {};
  const auto element = static_cast<std::int64_t>(size_of(dtype));
  const auto elements = static_cast<std::int64_t>(std::max(most_bytes, kFactor * kLeast)) / element;
  Arena arena(context, elements * element + Arena::kAlignment);
  const Tensor buffer = arena.allocate(dtype, {elements});  // zeros stay zeros
  const CommScope scope(comm, context.comm());

  std::vector<LinkSample> samples;
  for (double bytes = kLeast; bytes < kFactor * most_bytes; bytes *= kFactor) {
    const Tensor part = buffer.slice(0, std::min(static_cast<std::int64_t>(bytes) / element, elements));
    const bool small = bytes < most_bytes / 64;
    const auto times = time_calls(
        context, comm, context.comm(), [&] { comm.all_reduce(part, ReduceOp::sum, context.comm()); }, kWarmup,
        small ? 20 : 5);
    samples.push_back({static_cast<double>(part.bytes()), quantile(times.calls_us, 0.5)});
  }
  return fit_link(samples);
}

}  // namespace tandem

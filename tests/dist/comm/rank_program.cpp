// A small program with the structure of a real one, for failures_test.cpp: joins the world, agrees, and takes
// steps of one all-reduce each. Its argument says what goes wrong: nothing, throw (rank 1 in step 3),
// bad-input (rank 1), endless (until a signal comes), relaunch (starts itself with two ranks, then as
// `nothing`), place (says which cores).
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "core/comm/comm_scope.h"
#include "core/comm/launch.h"
#include "core/comm/signals.h"
#include "core/comm/world.h"

namespace tandem {

namespace {

void say(const World& world, const std::string& what) {
  fmt::print(stderr, "tandem: rank {}: {}\n", world.rank(), what);
}

/// What SIGUSR1 asked of any rank, asked of all.
bool all_stop(World& world, Context& context, const SignalGuard& signals) {
  std::int64_t stop = signals.stop_requested();
  world.comm().all_reduce(Tensor::of(&stop, {1}), ReduceOp::max, context.comm());
  context.comm().synchronize();
  return stop != 0;
}

void take_steps(World& world, Context& context, SignalGuard& signals, const std::string& fault) {
  std::vector<float> values(300000, 1.0f);
  std::atomic<int> step = 0;
  const SignalGuard::Registration registration(
      signals, [&] { return fmt::format("rank {}: step {}", world.rank(), step.load()); });
  const CommScope scope(world.comm(), context.comm());
  for (; (step < 10 || fault == "endless") && !all_stop(world, context, signals); ++step) {
    world.comm().all_reduce(Tensor::of(values.data(), {std::ssize(values)}), ReduceOp::max, context.comm());
    if (fault == "throw" && world.rank() == 1 && step == 3)
      throw CommError("step {}: out of luck", step.load());
    context.comm().synchronize();
    if (fault == "endless") std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (fault == "endless" && step == 5) say(world, fmt::format("ready as {}", getpid()));
  }
  say(world, fmt::format("done, {} ranks", world.size()));
}

int run(const std::string& fault) {
  SignalGuard signals;
  Context context = Context::cpu();
  const auto world = World::join(context);
  try {
    const DataError bad_input("images.idx is empty");
    world->agree(fault == "bad-input" && world->rank() == 1 ? &bad_input : nullptr, context);
    if (fault == "place") say(*world, "cores " + core_list(current_cores()));
    if (fault != "place") take_steps(*world, context, signals, fault);
    return 0;
  } catch (const AgreedError& e) {
    if (e.speaker()) say(*world, e.what());
    return e.exit_code();
  } catch (const std::exception& e) {
    say(*world, e.what());
    world->comm().abort(3);
    return 3;
  }
}

}  // namespace

}  // namespace tandem

int main(int, char** argv) {
  const std::string fault = argv[1];
  if (fault == "relaunch") tandem::relaunch_under_mpirun(2, {"nothing"});
  return tandem::run(fault);
}

#include "examples/train/memory_check.h"

#include <functional>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "examples/train/device.h"

namespace tandem::train {

namespace {

std::string bytes(std::int64_t count) {
  return human_bytes(static_cast<double>(count));
}

/// A change to the options that saves memory.
struct Remedy {
  std::string option;
  std::function<void(Setup&)> apply;
};

std::vector<Remedy> remedies(const Context& context, const Setup& setup) {
  const Options& o = setup.options;
  std::vector<Remedy> found;
  const auto recompute = [&](const char* what, Recompute mode) {
    found.push_back({fmt::format("--recompute {}", what),
                     [mode](Setup& s) { std::get<GptConfig>(s.config.dimensions).recompute = mode; }});
  };
  if (setup.config.is_gpt() && o.recompute == "none") recompute("gelu", Recompute::gelu);
  if (setup.config.is_gpt() && o.recompute != "block") recompute("block", Recompute::block);
  if (context.device().kind == DeviceKind::cuda && compute_dtype(o) == DType::f32)
    found.push_back({"--precision bf16", [](Setup& s) { s.options.precision = "bf16"; }});
  for (std::int64_t batch = setup.batch() / 2; batch >= 1; batch /= 2)
    found.push_back({fmt::format("--batch {}", batch), [batch](Setup& s) { s.sampler.batch = batch; }});
  return found;
}

}  // namespace

void check_memory(Context& context, const World& world, const Setup& setup, const MemoryTable& memory) {
  const bool cpu = context.device().kind == DeviceKind::cpu;
  const MemoryInfo info = context.memory_info();
  const std::int64_t ranks = cpu ? world.local_size() : 1;  // the host's memory is for all of its ranks
  const std::int64_t missing = memory.total() * ranks - info.free;
  if (info.total == 0 || missing <= 0) return;

  std::vector<std::string> fitting;
  for (const Remedy& remedy : remedies(context, setup)) {
    Setup changed = setup;
    remedy.apply(changed);
    const std::int64_t total = Blueprint(context, changed).memory.total();
    if (total * ranks > info.free) continue;
    fitting.push_back(fmt::format("{} ({})", remedy.option, bytes(total)));
    if (remedy.option.starts_with("--batch")) break;  // the largest that fits
  }
  throw UsageError(
      "the plan takes {}{}, and {} of {} are free: {} are missing. {}", bytes(memory.total()),
      ranks > 1 ? fmt::format(" for each of {} ranks", ranks) : "", bytes(info.free), bytes(info.total),
      bytes(missing),
      fitting.empty()
          ? "No single option makes it fit: choose a smaller model, or several of --recompute and --batch"
          : fmt::format("It would fit with one of: {}", fmt::join(fitting, ", ")));
}

}  // namespace tandem::train

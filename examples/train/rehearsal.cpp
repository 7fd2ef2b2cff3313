#include "examples/train/rehearsal.h"

#include "core/ops/tuning.h"
#include "core/telemetry/gather.h"
#include "core/telemetry/run_folder.h"
#include "core/tensor/arena.h"
#include "examples/train/algorithm_file.h"

namespace tandem::train {

namespace {

void run_step(Context& context, const Setup& setup, Replica& replica) {
  const TensorSpec sample = setup.data.train->input(), target = setup.data.train->target();
  const TensorSpec inputs{sample.dtype, setup.model_input().shape};
  const TensorSpec targets{target.dtype, {setup.batch() * target.shape.numel()}};
  Arena measure;
  measure.allocate(inputs);
  measure.allocate(targets);
  Arena arena(context, measure.peak());  // zeros: as good as any ids, features or targets
  const Tensor x = arena.allocate(inputs), y = arena.allocate(targets);

  IgnoreGradients sink;
  replica.store.start_accumulation();
  replica.loss.start_accumulation();
  replica.loss.set_seed(0);
  for (int micro = 0; micro < (setup.options.accumulate > 1 ? 2 : 1); ++micro) {  // assigning, then adding
    const Tensor logits = replica.forward(context, x);
    replica.loss.forward_backward(logits, y);
    replica.model.backward(context, logits, sink);
  }
  context.compute().synchronize();
}

/// Chooses an algorithm for each product that the cache file has none for.
void choose_algorithms(Context& context, const Setup& setup, Replica& replica) {
  const auto file = algorithm_file(setup.options.algorithm_cache, context.device_name());
  const std::string known = read_algorithms(file);
  try {
    ops::use_algorithms(context, known);
  } catch (const DataError& error) {
    fmt::print("{} is not used and will be replaced: {}\n", file.string(), error.what());
  }
  ops::set_tuning(context, ops::Tuning::on);
  run_step(context, setup, replica);
  ops::set_tuning(context, ops::Tuning::off);
  if (const std::string chosen = ops::tuned_algorithms(context); chosen != known)
    write_algorithms(file, chosen);
}

}  // namespace

void rehearse(Context& context, World& world, const Setup& setup, Replica& replica,
              const std::filesystem::path& folder) {
  if (context.device().kind == DeviceKind::cpu) return;
  if (setup.options.deterministic) return run_step(context, setup, replica);
  if (world.rank() == 0) {
    choose_algorithms(context, setup, replica);
    if (!folder.empty()) write_text_file(folder / "algorithms.jsonl", ops::tuned_algorithms(context));
  }
  ops::use_algorithms(
      context, broadcast_text(ops::tuned_algorithms(context), world.comm().control(), context.control()));
  run_step(context, setup, replica);
}

}  // namespace tandem::train

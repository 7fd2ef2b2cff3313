#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/telemetry/statistics.h"
#include "core/telemetry/step_timer.h"
#include "dataloader/data_spec.h"
#include "dataloader/sampler.h"
#include "examples/train/options.h"
#include "models/presets.h"
#include "models/weights/weights_file.h"
#include "optim/schedule.h"

namespace tandem::train {

/// What a run is going to do, worked out from the options, the data and the number of ranks before any memory
/// is taken.
struct Setup {
  Options options;
  ModelConfig config;
  DataSets data;
  DistributedSampler sampler;  ///< of the training data, as this rank sees it: holds b, K, P and the seed
  std::int64_t steps = 0;
  std::optional<Window> window;             ///< --window
  std::shared_ptr<const WeightsFile> init;  ///< --init, checked against the model; null: values are drawn

  std::int64_t batch() const { return sampler.batch; }
  /// Tokens of a sample; 0 where samples are not sequences.
  std::int64_t sequence() const { return config.is_gpt() ? config.gpt().sequence : 0; }
  TensorSpec model_input() const;
  Schedule schedule() const;
  /// No update before every bucket has been reduced: clipping and a loss scale need the norm.
  bool waits_for_all() const;
  /// Whether steps run as graphs on that device (--cuda-graph).
  bool captured(const Context& context) const;
  Probe probe() const;
  /// Which steps are timed from within, where they run as graphs: every --probe-every-th, and --explain-step.
  CapturedSteps captured_steps(const Context& context) const;
  /// The command line without what names this one run (ranks, log folder, …): what `tandem scaling` is given.
  std::string measured_options() const;
};

/// Throws UsageError or DataError for whatever can be wrong before the first collective.
Setup prepare(const Options& options, int rank, int ranks);

}  // namespace tandem::train

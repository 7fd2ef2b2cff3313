#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/telemetry/statistics.h"
#include "core/telemetry/step_work.h"

namespace tandem {

/// One level of a network, from the inside out: groups of up to `ranks` ranks are joined by links of this
/// kind. A message of n bytes between two of them takes alpha_us + n / gb_s / 1000.
struct NetworkLevel {
  int ranks = 0;
  double alpha_us = 0, gb_s = 0;
};

/// The ring all-reduce among `ranks` ranks over such a network: 2(P − 1) steps of n/P bytes, each as slow as
/// the outermost link that the ring crosses. Throws DataError where no level holds that many ranks.
LinkModel ring_link(std::span<const NetworkLevel> network, int ranks);

/// The ring all-reduce among `ranks` ranks from the one measured among `measured_ranks` ≥ 2, all links being
/// alike: each constant as the ring's formula changes it, α ∝ P − 1, β ∝ 2(P − 1)/P, segments in bytes a
/// message, n/P.
LinkModel ring_link(const LinkModel& measured, int measured_ranks, int ranks);

/// The link as buckets' transfers show it: one sample for each size. A single size gives a line through 0.
LinkModel link_of_transfers(std::span<const std::vector<StepRecord>> ranks);

/// E[max] of n independent standard normal values: 0, 0.56, 0.85, 1.03, … Numeric.
double expected_maximum(int n);

/// What is known of a model's step, for any number of ranks.
struct Calibration {
  StepWork work;  ///< of one rank, whatever the others take
  Contention contention;
  double noise_us = 0;  ///< standard deviation of one rank's own work from step to step
};

struct Prediction {
  int ranks = 1;
  double step_ms = 0, exposed_ms = 0;
  double straggling_ms = 0;  ///< part of the step: waiting for the slowest of the ranks
  double efficiency = 1;     ///< weak: a rank's step alone / this step
};

/// The step among `ranks` ranks with the same batch on each: the replay over `link` (of that many ranks), and
/// what synchronous steps wait for the slowest rank, noise · E[max of P].
Prediction predict_step(const Calibration& calibration, const LinkModel& link, int ranks);

/// Standard deviation of a rank's work (step − exposed) from step to step: half the distance between the
/// quantiles 0.16 and 0.84, so that single outliers do not count. The mean over ranks.
double work_noise_us(std::span<const std::vector<StepRecord>> ranks);

/// "2 ranks 126 ms, 4 ranks 139 ms, …" from one run's own steps in the window, `ranks[r]` of rank r from step
/// 0 on, for the end of a run: with the link that its buckets saw. Empty where its buckets were not timed or
/// it ran alone.
std::string outlook(std::span<const std::vector<StepRecord>> ranks, const Window& window, bool clipped,
                    bool overlap);

}  // namespace tandem

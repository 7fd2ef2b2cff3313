#pragma once

#include <functional>
#include <optional>

#include "core/comm/world.h"
#include "core/telemetry/cap_choice.h"
#include "examples/train/replica.h"
#include "examples/train/run_observer.h"

namespace tandem::train {

/// The training loop: trains `replica` for setup.steps steps among `world`'s ranks.
using TrainingLoop =
    std::function<void(World& world, const Setup& setup, Replica& replica, RunObserver& observer)>;

/// With --bucket-mb auto: measures the link and a few steps, predicts the step for every cap, tries the best
/// ones in interleaved rounds of a few steps, puts the one to take into setup.options.bucket_mb and prints
/// why. Otherwise, and where one rank has nobody to talk to, does nothing and returns nothing.
///
/// The trials come before the training and train copies of the model that are thrown away, by the same loop:
/// the training itself begins from the same values, batches and random numbers as with --bucket-mb given, and
/// so ends with the same parameters. The price is the time of the trials; a copy's memory is given back
/// before the next one is made.
///
/// Collective; the same on every rank. A stop request (SIGUSR1) ends the trials early, with the standard cap.
std::optional<CapChoice> choose_cap(Context& context, World& world, Setup& setup, const TrainingLoop& train);

}  // namespace tandem::train

#pragma once

#include "models/weights/stored_weights.h"

namespace tandem {

/// Throws DataError unless the weights are those of a model of this size, each of a floating type. Where
/// sizes differ, the message names both sides and the options of `train` that would make the model the
/// file's. Otherwise it names the tensors that are missing, that the model does not have, or whose shape is
/// another.
void check_fit(const StoredWeights& weights, const ModelConfig& config, const ParameterList& parameters);

}  // namespace tandem

#pragma once

#include <cstdint>

#include "core/comm/communicator.h"
#include "dataloader/input_feed.h"
#include "examples/train/replica.h"

namespace tandem::train {

/// Over a whole validation set, each sample counted once, whatever the number of ranks.
struct Evaluation {
  double loss = 0;      ///< mean over targets, nats
  double accuracy = 0;  ///< share of targets that were the likeliest
  std::int64_t targets = 0;
};

/// The validation set as this rank sees it: in order, the tail filled up with empty rows.
class Evaluator {
 public:
  Evaluator(Context& context, Communicator& communicator, const Setup& setup);

  /// Collective. Uses the replica's memory, so no step may be under way.
  Evaluation run(Replica& replica);

 private:
  Context& context_;
  Communicator& communicator_;
  DataLoader loader_;
  InputFeed feed_;
};

}  // namespace tandem::train

#include <cmath>

#include "optim/optimizer.h"

namespace tandem {

namespace {

void validate(const AdamWOptions& options) {
  for (double beta : {options.beta1, options.beta2})
    if (!(beta >= 0 && beta < 1)) throw UsageError("AdamW with beta {}: give 0 or more, below 1", beta);
  if (!std::isfinite(options.epsilon) || options.epsilon <= 0)
    throw UsageError("AdamW with epsilon {}: give a finite number above 0", options.epsilon);
  if (!std::isfinite(options.weight_decay) || options.weight_decay < 0)
    throw UsageError("AdamW with weight decay {}: give a finite number, 0 or more", options.weight_decay);
}

class AdamW final : public Optimizer {
 public:
  AdamW(Context& context, const ParameterStore& store, const AdamWOptions& options,
        std::span<const LayoutRange> owned)
      : Optimizer(context, store, options.weight_decay, 2, owned), options_(options) {}

 private:
  void update(const Flat& flat, const ops::ChunkRange& chunks) override {
    ops::adamw_update(context(), {options_.beta1, options_.beta2, options_.epsilon}, scalars(), chunks,
                      flat.values, flat.masters, flat.grads, flat.state[0], flat.state[1]);
  }

  AdamWOptions options_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(Context& context, ParameterStore& store, const AdamWOptions& options,
                                      std::span<const LayoutRange> owned) {
  validate(options);
  return std::make_unique<AdamW>(context, store, options, owned);
}

}  // namespace tandem

#include <cmath>

#include "optim/optimizer.h"

namespace tandem {

namespace {

void validate(const SgdOptions& options) {
  if (!(options.momentum >= 0 && options.momentum < 1))
    throw UsageError("SGD with momentum {}: give 0 or more, below 1", options.momentum);
  if (options.nesterov && options.momentum == 0) throw UsageError("Nesterov's SGD needs a momentum above 0");
  if (!std::isfinite(options.weight_decay) || options.weight_decay < 0)
    throw UsageError("SGD with weight decay {}: give a finite number, 0 or more", options.weight_decay);
}

class Sgd final : public Optimizer {
 public:
  Sgd(Context& context, const ParameterStore& store, const SgdOptions& options,
      std::span<const LayoutRange> owned)
      : Optimizer(context, store, options.weight_decay, options.momentum > 0 ? 1 : 0, owned),
        options_(options) {}

 private:
  void update(const Flat& flat, const ops::ChunkRange& chunks) override {
    ops::sgd_update(context(), {options_.momentum, options_.nesterov}, scalars(), chunks, flat.values,
                    flat.masters, flat.grads, flat.state[0]);
  }

  SgdOptions options_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(Context& context, ParameterStore& store, const SgdOptions& options,
                                    std::span<const LayoutRange> owned) {
  validate(options);
  return std::make_unique<Sgd>(context, store, options, owned);
}

}  // namespace tandem

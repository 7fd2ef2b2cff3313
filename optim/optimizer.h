#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/nn/parameter_store.h"
#include "core/ops/update.h"

namespace tandem {

/// Updates flat slices of a ParameterStore. One step:  start_step(lr, grad_scale);  update_slice(…) for
/// slices that together cover the layout once (DDP's buckets as they arrive, or all at once).
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// `grad_scale` multiplies every gradient (clipping).
  void start_step(double lr, double grad_scale = 1.0);
  /// Updates the parameters that lie in elements [offset, offset + numel) of the layout; no parameter may
  /// straddle its ends.
  void update_slice(std::int64_t offset, std::int64_t numel);
  void update_all();

  std::int64_t steps() const { return steps_; }  ///< started so far
  /// Bytes of optimizer state for a layout: 0, 1 or 2 values per element.
  virtual std::int64_t state_bytes() const = 0;

 private:
  std::int64_t steps_ = 0;
};

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
};

std::unique_ptr<Optimizer> make_sgd(Context& context, ParameterStore& store, const SgdOptions& options);
std::unique_ptr<Optimizer> make_adamw(Context& context, ParameterStore& store, const AdamWOptions& options);

}  // namespace tandem

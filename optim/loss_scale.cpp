#include "optim/loss_scale.h"

#include <array>
#include <cmath>

#include "core/base/error.h"

namespace tandem {

LossScale::LossScale(Context& context, double initial, const ops::LossScaleRule& rule)
    : rule_(rule), memory_(context, ops::kLossScaleValues * static_cast<std::int64_t>(sizeof(double))) {
  if (!std::isfinite(initial) || initial < 1)
    throw UsageError("a loss scale of {} to begin with: give a finite number of at least 1", initial);
  state_ = memory_.allocate(DType::f64, {ops::kLossScaleValues});
  memory_.seal();
  const std::array<double, ops::kLossScaleValues> values = {initial};
  context.compute().copy(state_.data(), values.data(), sizeof values);
  context.compute().synchronize();  // before `values` goes
}

}  // namespace tandem

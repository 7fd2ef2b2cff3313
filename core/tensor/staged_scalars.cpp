#include "core/tensor/staged_scalars.h"

#include <algorithm>

#include "core/tensor/copy.h"

namespace tandem {

StagedScalars::StagedScalars(Context& context, std::int64_t count)
    : context_(&context),
      device_memory_(context, count * static_cast<std::int64_t>(sizeof(double))),
      staging_memory_(context, kSlots * count * static_cast<std::int64_t>(sizeof(double)),
                      DeviceMemory::Kind::staging),
      device_(device_memory_.allocate(DType::f64, {count})),
      staging_(staging_memory_.allocate(DType::f64, {kSlots, count})) {
  for (Event& event : read_) event = context.make_event();
}

void StagedScalars::send(std::span<const double> values) {
  const std::int64_t count = device_.numel();
  require(std::ssize(values) == count, "{} scalars are sent where {} are expected", values.size(), count);
  Event& read = read_[static_cast<std::size_t>(next_)];
  read.synchronize();
  const Tensor slot = staging_.slice(next_ * count, count);
  std::copy(values.begin(), values.end(), slot.as<double>());
  copy(context_->compute(), slot, device_);
  context_->compute().record(read);
  next_ = (next_ + 1) % kSlots;
}

}  // namespace tandem

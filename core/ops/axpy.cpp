#include "core/ops/axpy.h"

#include "core/ops/op_table.h"

namespace tandem::ops {

void axpy(Context& context, double factor, const Tensor& x, const Tensor& y) {
  require(x.numel() == y.numel() && x.dtype() == y.dtype(), "axpy: {} {} to {} {}", name_of(x.dtype()),
          x.shape().str(), name_of(y.dtype()), y.shape().str());
  if (x.numel() > 0) table_of(context).axpy(context, factor, x, y);
}

}  // namespace tandem::ops

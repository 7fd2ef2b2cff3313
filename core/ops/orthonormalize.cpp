#include "core/ops/orthonormalize.h"

#include "core/ops/op_table.h"

namespace tandem::ops {

void orthonormalize(Context& context, const Tensor& matrix) {
  require(matrix.shape().rank() == 2 && matrix.shape()[1] <= matrix.shape()[0],
          "orthonormalize: {} has more columns than rows", matrix.shape().str());
  if (matrix.numel() > 0) table_of(context).orthonormalize(context, matrix);
}

}  // namespace tandem::ops

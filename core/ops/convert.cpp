#include "core/ops/convert.h"

#include "core/ops/op_table.h"

namespace tandem::ops {

void convert(Context& context, const Tensor& from, const Tensor& to, float factor) {
  require(from.numel() == to.numel(), "convert: {} to {}", from.shape().str(), to.shape().str());
  table_of(context).convert(context, from, to, factor);
}

void add_scaled(Context& context, const Tensor& factor, const Tensor& value, const Tensor& to, Write write) {
  require(factor.numel() == 1 && value.numel() == 1 && to.numel() == 1 && factor.dtype() == DType::f64 &&
              value.dtype() == DType::f64 && to.dtype() == DType::f64,
          "add_scaled: {} · {} to {}", factor.shape().str(), value.shape().str(), to.shape().str());
  table_of(context).add_scaled(context, factor, value, to, write);
}

}  // namespace tandem::ops
